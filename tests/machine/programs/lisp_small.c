/* A small Lisp: tagged words, a reader, closures, special forms, a copying garbage collector. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint32_t object; /* tag in the low two bits: 0 number, 1 pair, 2 symbol, 3 nothing or builtin */

#define NIL 3u
#define NUMBER(n) ((object)((uint32_t)(n) << 2))
#define VALUE(o) ((int32_t)(o) >> 2)
#define IS_PAIR(o) (((o) & 3) == 1)
#define IS_SYMBOL(o) (((o) & 3) == 2)
#define BUILTIN(n) ((object)((n) << 2 | 3))
#define CELLS 700

static object spaces[2][CELLS][2], (*cells)[2] = spaces[0];
static uint32_t used, collections, roots_used;
static object *roots[200];
static char names[60][12];
static uint32_t name_count;
static object globals = NIL, lambda_word;

static object copy(object o, object (*to)[2], uint32_t *count) {
    if (!IS_PAIR(o)) return o;
    object *cell = cells[o >> 2];
    if (cell[0] == 0xFFFFFFFF) return cell[1];
    uint32_t place = (*count)++;
    to[place][0] = cell[0], to[place][1] = cell[1];
    cell[0] = 0xFFFFFFFF;
    return cell[1] = place << 2 | 1;
}

static void collect(void) {
    object (*to)[2] = cells == spaces[0] ? spaces[1] : spaces[0];
    uint32_t count = 0;
    globals = copy(globals, to, &count);
    for (uint32_t i = 0; i < roots_used; i++) *roots[i] = copy(*roots[i], to, &count);
    for (uint32_t at = 0; at < count; at++)
        for (int half = 0; half < 2; half++) to[at][half] = copy(to[at][half], to, &count);
    cells = to, used = count;
    collections++;
}

static object cons(object a, object b) {
    if (used == CELLS) {
        roots[roots_used++] = &a, roots[roots_used++] = &b;
        collect();
        roots_used -= 2;
        if (used == CELLS) {
            puts("memory is full");
            exit(1);
        }
    }
    cells[used][0] = a, cells[used][1] = b;
    return used++ << 2 | 1;
}

static object car(object o) { return IS_PAIR(o) ? cells[o >> 2][0] : NIL; }
static object cdr(object o) { return IS_PAIR(o) ? cells[o >> 2][1] : NIL; }

static object symbol(const char *text, size_t length) {
    for (uint32_t i = 0; i < name_count; i++)
        if (strlen(names[i]) == length && memcmp(names[i], text, length) == 0) return i << 2 | 2;
    memcpy(names[name_count], text, length);
    return name_count++ << 2 | 2;
}

static const char *at;

static object read_list(void);

static object read_object(void) {
    while (isspace((unsigned char)*at)) at++;
    if (*at == '(') return at++, read_list();
    if (*at == '\'') {
        at++;
        object o = read_object();
        return cons(symbol("quote", 5), cons(o, NIL));
    }
    size_t length = strcspn(at, " ()\n");
    const char *word = at;
    at += length;
    if (isdigit((unsigned char)word[word[0] == '-' && length > 1])) return NUMBER(atoi(word));
    return symbol(word, length);
}

static object read_list(void) {
    while (isspace((unsigned char)*at)) at++;
    if (*at == ')') return at++, NIL;
    object first = read_object();
    roots[roots_used++] = &first;
    object rest = read_list();
    roots_used--;
    return cons(first, rest);
}

static void print(object o) {
    if ((o & 3) == 0) printf("%d", VALUE(o));
    if (IS_SYMBOL(o)) printf("%s", names[o >> 2]);
    if (o == NIL) printf("()");
    if (o != NIL && (o & 3) == 3) printf("<builtin>");
    if (!IS_PAIR(o)) return;
    if (car(o) == lambda_word) {
        printf("<lambda>");
        return;
    }
    for (char c = '('; o != NIL; o = cdr(o), c = ' ') putchar(c), print(car(o));
    putchar(')');
}

static object find(object name, object scope) {
    for (; scope != NIL; scope = cdr(scope))
        if (car(car(scope)) == name) return car(scope);
    return NIL;
}

static const char *const builtins[] = {"", "+", "-", "*", "/", "<", "=", "car", "cdr", "cons", "pair?", "%"};

static object apply_builtin(uint32_t which, object list) {
    object a = car(list), b = car(cdr(list));
    int32_t x = VALUE(a), y = VALUE(b);
    switch (which) {
    case 1: return NUMBER(x + y);
    case 2: return NUMBER(x - y);
    case 3: return NUMBER(x * y);
    case 4: return NUMBER(y ? x / y : 0);
    case 5: return x < y ? NUMBER(1) : NIL;
    case 6: return a == b ? NUMBER(1) : NIL;
    case 7: return car(a);
    case 8: return cdr(a);
    case 9: return cons(a, b);
    case 10: return IS_PAIR(a) ? NUMBER(1) : NIL;
    default: return NUMBER(y ? x % y : 0);
    }
}

static object evaluate(object form, object scope) {
    object f = NIL, list = NIL, value = NIL;
    uint32_t kept = roots_used;
    object *mine[] = {&form, &scope, &f, &list, &value};
    for (int i = 0; i < 5; i++) roots[roots_used++] = mine[i];
    for (;;) {
        if (IS_SYMBOL(form)) {
            object found = find(form, scope);
            value = cdr(found != NIL ? found : find(form, globals));
            break;
        }
        if (!IS_PAIR(form)) {
            value = form;
            break;
        }
        object head = car(form);
        const char *name = IS_SYMBOL(head) ? names[head >> 2] : "";
        if (strcmp(name, "quote") == 0) {
            value = car(cdr(form));
            break;
        }
        if (strcmp(name, "if") == 0) {
            object branches = cdr(cdr(form)), test = evaluate(car(cdr(form)), scope);
            branches = cdr(cdr(form)); /* it may have been moved */
            form = test != NIL ? car(branches) : car(cdr(branches));
            continue;
        }
        if (strcmp(name, "lambda") == 0) { /* (lambda scope parameters body) */
            list = cons(scope, cdr(form));
            value = cons(lambda_word, list);
            break;
        }
        if (strcmp(name, "define") == 0) {
            value = evaluate(car(cdr(cdr(form))), scope);
            value = cons(car(cdr(form)), value);
            globals = cons(value, globals);
            value = car(cdr(form));
            break;
        }
        f = evaluate(head, scope);
        if ((f & 3) == 3 && f != NIL) {
            value = evaluate(car(cdr(form)), scope);
            list = cdr(cdr(form)) != NIL ? evaluate(car(cdr(cdr(form))), scope) : NIL;
            list = cons(list, NIL);
            list = cons(value, list);
            value = apply_builtin(f >> 2, list);
            break;
        }
        if (!IS_PAIR(f)) break;
        list = car(cdr(f)); /* the scope of the closure, and the arguments before it */
        uint32_t place = 0;
        for (object p = car(cdr(cdr(f))); p != NIL; place++) {
            object argument = cdr(form);
            for (uint32_t i = 0; i < place; i++) argument = cdr(argument);
            value = evaluate(car(argument), scope);
            p = car(cdr(cdr(f)));
            for (uint32_t i = 0; i < place; i++) p = cdr(p);
            value = cons(car(p), value);
            list = cons(value, list);
            p = car(cdr(cdr(f)));
            for (uint32_t i = 0; i <= place; i++) p = cdr(p);
        }
        scope = list;
        form = car(cdr(cdr(cdr(f))));
    }
    roots_used = kept;
    return value;
}

int main(void) {
    static const char text[] =
        "(define fib (lambda (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))))(fib 10)"
        "(define map (lambda (f l) (if (pair? l) (cons (f (car l)) (map f (cdr l))) l)))"
        "(map (lambda (x) (* x x)) '(1 2 3 4 5))"
        "(define adder (lambda (n) (lambda (k) (+ n k))))((adder 30) 12)"
        "(define loop (lambda (i s) (if (= i 0) s (loop (- i 1) (+ s i)))))(loop 60 0)"
        "(define gcd (lambda (a b) (if (= b 0) a (gcd b (% a b)))))(gcd 1071 462)"
        "'(a (b c) ()) + adder (unknown 1) (/ -7 2) (car '())";
    lambda_word = symbol("lambda", 6);
    for (uint32_t i = 1; i < sizeof builtins / sizeof *builtins; i++)
        globals = cons(cons(symbol(builtins[i], strlen(builtins[i])), BUILTIN(i)), globals);
    for (at = text; *at;) {
        print(evaluate(read_object(), NIL));
        putchar('\n');
        while (isspace((unsigned char)*at)) at++;
    }
    collect();
    printf("%u collections, %u cells\n", collections, used);
    return 0;
}
