/* A small Lisp: numbers, lists, first-class functions, recursion.
 *
 *   curta run examples/lisp.c --stdin "(define (fact n) (if (= n 0) 1 (* n (fact (- n 1))))) (fact 20)"
 *
 * Reads expressions from the standard input and prints the value of each (a definition has none).
 *
 *   special forms  quote ' define lambda if cond let begin and or
 *   functions      + - * quotient remainder = < > <= >= not eq? null? pair? number?
 *                  cons car cdr list length append map apply display newline
 *
 * Numbers have 64 bits. Calls in tail position use no stack, so loops can be written as recursion.
 * There is no garbage collector: cells come from a pool, and when it is empty the session ends.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Cell Cell;
typedef Cell *Value;
typedef Value (*Builtin)(Value arguments);

typedef enum { NIL, NUMBER, SYMBOL, PAIR, CLOSURE, BUILTIN } Kind;

struct Cell {
    Kind kind;
    union {
        int64_t number;
        struct { const char *name; Value global; } symbol;
        struct { Value first, rest; } pair;
        struct { Value function, environment; } closure; /* (parameters body ...) */
        struct { const char *name; Builtin call; } builtin;
    };
};

enum { POOL = 1 << 18, DEEPEST = 4000, MOST_SYMBOLS = 1 << 10 };

static Cell pool[POOL];
static int pool_used;
static Value symbols[MOST_SYMBOLS];
static int symbol_count;
static const char *complaint; /* set when an evaluation fails; then all of it returns NULL */
static int depth;

static Cell nil_cell = {NIL}, nothing_cell = {NIL};
#define nil (&nil_cell)
#define nothing (&nothing_cell) /* a value that the session does not print */
static Value truth, quote, define, lambda, if_, cond, let, begin, and_, or_, else_;

static Value fail(const char *what) {
    complaint = complaint == NULL ? what : complaint;
    return NULL;
}

/* ---- cells ---- */

static Value new_cell(Kind kind) {
    if (pool_used == POOL) {
        puts("the pool of cells is empty");
        exit(1);
    }
    pool[pool_used].kind = kind;
    return &pool[pool_used++];
}

static Value number(int64_t n) {
    Value cell = new_cell(NUMBER);
    cell->number = n;
    return cell;
}

static Value cons(Value first, Value rest) {
    Value cell = new_cell(PAIR);
    cell->pair.first = first;
    cell->pair.rest = rest;
    return cell;
}

static Value symbol(const char *name, size_t length) {
    for (int i = 0; i < symbol_count; i++) {
        const char *known = symbols[i]->symbol.name;
        if (strncmp(known, name, length) == 0 && known[length] == 0) {
            return symbols[i];
        }
    }
    if (symbol_count == MOST_SYMBOLS) {
        return fail("too many symbols");
    }
    Value cell = new_cell(SYMBOL);
    char *copy = malloc(length + 1);
    memcpy(copy, name, length);
    copy[length] = 0;
    cell->symbol.name = copy;
    cell->symbol.global = NULL;
    return symbols[symbol_count++] = cell;
}

static Value first(Value list) {
    return list->kind == PAIR ? list->pair.first : fail("a list is too short");
}

static Value rest(Value list) {
    return list->kind == PAIR ? list->pair.rest : fail("a list is too short");
}

static Value second(Value list) {
    Value tail = rest(list);
    return tail == NULL ? NULL : first(tail);
}

/* Appends to a list that is being built; `end` is where its last rest lies. */
static Value *append_to(Value *end, Value value) {
    *end = cons(value, nil);
    return &(*end)->pair.rest;
}

/* ---- reading ---- */

static int peeked = -2; /* a character that was looked at and not taken */

static int peek(void) {
    if (peeked == -2) {
        peeked = getchar();
    }
    return peeked;
}

static int take(void) {
    int c = peek();
    peeked = -2;
    return c;
}

static int skip_space(void) {
    while (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r' || peek() == ';') {
        if (take() == ';') {
            while (peek() != '\n' && peek() != EOF) {
                take();
            }
        }
    }
    return peek();
}

static Value read_word(void) {
    char word[64];
    size_t length = 0;
    while (peek() > ' ' && strchr("()';", peek()) == NULL) {
        if (length < sizeof word - 1) {
            word[length++] = peek();
        }
        take();
    }
    word[length] = 0;
    char *end;
    int64_t n = strtoll(word, &end, 10);
    return end != word && *end == 0 ? number(n) : symbol(word, length);
}

/* The next expression; NULL at the end of the input, or if it is not well-formed. */
static Value read(void) {
    int c = skip_space();
    if (c == EOF) {
        return NULL;
    }
    if (c == ')') {
        take();
        return fail("a parenthesis too many");
    }
    if (c == '\'') {
        take();
        Value quoted = read();
        return quoted == NULL ? NULL : cons(quote, cons(quoted, nil));
    }
    if (c != '(') {
        return read_word();
    }
    take();
    Value list = nil, *end = &list;
    while ((c = skip_space()) != ')') {
        Value item = c == EOF ? fail("a parenthesis is missing") : read();
        if (item == NULL) {
            return fail("a parenthesis is missing");
        }
        end = append_to(end, item);
    }
    take();
    return list;
}

/* ---- printing ---- */

static void print(Value value) {
    switch (value->kind) {
    case NIL: fputs("()", stdout); break;
    case NUMBER: printf("%" PRId64, value->number); break;
    case SYMBOL: fputs(value->symbol.name, stdout); break;
    case CLOSURE: fputs("<function>", stdout); break;
    case BUILTIN: printf("<%s>", value->builtin.name); break;
    case PAIR:
        putchar('(');
        print(value->pair.first);
        for (value = value->pair.rest; value->kind == PAIR; value = value->pair.rest) {
            putchar(' ');
            print(value->pair.first);
        }
        if (value != nil) {
            fputs(" . ", stdout);
            print(value);
        }
        putchar(')');
    }
}

/* ---- evaluation: environments are lists of pairs (symbol . value), the innermost first ---- */

static Value eval(Value expression, Value environment);

static Value value_of(Value name, Value environment) {
    for (; environment != nil; environment = environment->pair.rest) {
        if (environment->pair.first->pair.first == name) {
            return environment->pair.first->pair.rest;
        }
    }
    if (name->symbol.global == NULL) {
        printf("%s: ", name->symbol.name);
        return fail("this name means nothing");
    }
    return name->symbol.global;
}

static Value eval_list(Value list, Value environment) {
    Value values = nil, *end = &values;
    for (; list->kind == PAIR; list = list->pair.rest) {
        Value value = eval(list->pair.first, environment);
        if (value == NULL) {
            return NULL;
        }
        end = append_to(end, value);
    }
    return values;
}

/* The environment of a call. A symbol instead of a list of parameters takes all arguments. */
static Value bind(Value names, Value values, Value environment) {
    for (; names->kind == PAIR; names = names->pair.rest, values = values->pair.rest) {
        if (values->kind != PAIR) {
            return fail("too few arguments");
        }
        environment = cons(cons(names->pair.first, values->pair.first), environment);
    }
    if (names->kind == SYMBOL) {
        return cons(cons(names, values), environment);
    }
    return values == nil ? environment : fail("too many arguments");
}

static Value closure(Value function, Value environment) {
    Value cell = new_cell(CLOSURE);
    cell->closure.function = function;
    cell->closure.environment = environment;
    return cell;
}

/* (define name value) or (define (name parameter ...) body ...), always global. */
static Value eval_define(Value form, Value environment) {
    Value name = first(form), value;
    if (name == NULL) {
        return NULL;
    }
    if (name->kind == PAIR) {
        value = closure(cons(name->pair.rest, form->pair.rest), environment);
        name = name->pair.first;
    } else {
        Value body = second(form);
        value = body == NULL ? NULL : eval(body, environment);
    }
    if (value == NULL || name->kind != SYMBOL) {
        return fail("define wants a name");
    }
    name->symbol.global = value;
    return nothing;
}

/* All but the last of several expressions; the last one is returned to be evaluated. */
static Value eval_body(Value body, Value environment) {
    if (body->kind != PAIR) {
        return fail("an empty body");
    }
    for (; body->pair.rest->kind == PAIR; body = body->pair.rest) {
        if (eval(body->pair.first, environment) == NULL) {
            return NULL;
        }
    }
    return body->pair.first;
}

/* The expression that a cond comes to. */
static Value chosen(Value clauses, Value environment) {
    for (; clauses->kind == PAIR; clauses = clauses->pair.rest) {
        Value clause = clauses->pair.first, test = first(clause);
        Value holds = test == NULL ? NULL : test == else_ ? truth : eval(test, environment);
        if (holds == NULL) {
            return NULL;
        }
        if (holds != nil) {
            return eval_body(clause->pair.rest, environment);
        }
    }
    return nil;
}

/* (let ((name value) ...) body ...): the environment of the body. */
static Value let_environment(Value bindings, Value outer) {
    Value environment = outer;
    for (; bindings->kind == PAIR; bindings = bindings->pair.rest) {
        Value name = first(bindings->pair.first), body = second(bindings->pair.first);
        Value value = name == NULL || body == NULL ? NULL : eval(body, outer);
        if (value == NULL) {
            return NULL;
        }
        environment = cons(cons(name, value), environment);
    }
    return environment;
}

/* `and` ends at a (), `or` at anything else. */
static Value eval_until(int stop_at_nil, Value list, Value environment) {
    Value value = stop_at_nil ? truth : nil;
    for (; list->kind == PAIR; list = list->pair.rest) {
        value = eval(list->pair.first, environment);
        if (value == NULL || (value == nil) == stop_at_nil) {
            return value;
        }
    }
    return value;
}

/* One step of a special form. Either *done is set and this is its value, or the result is the
 * expression to go on with. */
static Value eval_special(Value form, Value *environment, int *done) {
    Value name = form->pair.first, parts = form->pair.rest;
    *done = 1;
    if (name == quote) {
        return first(parts);
    }
    if (name == lambda) {
        return closure(parts, *environment);
    }
    if (name == define) {
        return eval_define(parts, *environment);
    }
    if (name == and_ || name == or_) {
        return eval_until(name == and_, parts, *environment);
    }
    *done = 0;
    if (name == if_) {
        Value test = first(parts), branches = test == NULL ? NULL : rest(parts);
        Value holds = branches == NULL ? NULL : eval(test, *environment);
        if (holds == NULL) {
            return NULL;
        }
        return holds != nil ? first(branches) : branches->pair.rest == nil ? nil : second(branches);
    }
    if (name == cond) {
        return chosen(parts, *environment);
    }
    if (name == let) {
        Value bindings = first(parts);
        *environment = bindings == NULL ? NULL : let_environment(bindings, *environment);
        return *environment == NULL ? NULL : eval_body(parts->pair.rest, *environment);
    }
    return eval_body(parts, *environment); /* begin */
}

static int is_special(Value name) {
    return name == quote || name == define || name == lambda || name == if_ || name == cond ||
           name == let || name == begin || name == and_ || name == or_;
}

/* Calls in tail position go round the loop instead of deeper into C. */
static Value eval_in(Value expression, Value environment) {
    for (;;) {
        if (expression == NULL || expression->kind == NUMBER || expression == nil) {
            return expression;
        }
        if (expression->kind == SYMBOL) {
            return value_of(expression, environment);
        }
        if (expression->kind != PAIR) {
            return expression;
        }
        if (is_special(expression->pair.first)) {
            int done;
            expression = eval_special(expression, &environment, &done);
            if (done) {
                return expression;
            }
            continue;
        }
        Value function = eval(expression->pair.first, environment);
        Value arguments = function == NULL ? NULL : eval_list(expression->pair.rest, environment);
        if (arguments == NULL) {
            return NULL;
        }
        if (function->kind == BUILTIN) {
            return function->builtin.call(arguments);
        }
        if (function->kind != CLOSURE) {
            return fail("this is no function");
        }
        Value code = function->closure.function;
        environment = bind(first(code), arguments, function->closure.environment);
        expression = environment == NULL ? NULL : eval_body(code->pair.rest, environment);
    }
}

static Value eval(Value expression, Value environment) {
    if (depth == DEEPEST) {
        return fail("the recursion is too deep");
    }
    depth++;
    Value value = eval_in(expression, environment);
    depth--;
    return value;
}

/* ---- functions ---- */

static Value boolean(int holds) {
    return holds ? truth : nil;
}

/* The number of an argument; complains if it is none. */
static int64_t integer(Value arguments) {
    Value value = first(arguments);
    if (value == NULL || value->kind != NUMBER) {
        fail("this is not a number");
        return 0;
    }
    return value->number;
}

static Value call_add(Value arguments) {
    uint64_t sum = 0;
    for (; arguments->kind == PAIR; arguments = arguments->pair.rest) {
        sum += integer(arguments);
    }
    return complaint == NULL ? number(sum) : NULL;
}

static Value call_multiply(Value arguments) {
    uint64_t product = 1;
    for (; arguments->kind == PAIR; arguments = arguments->pair.rest) {
        product *= integer(arguments);
    }
    return complaint == NULL ? number(product) : NULL;
}

static Value call_subtract(Value arguments) {
    uint64_t left = integer(arguments);
    if (complaint == NULL && arguments->pair.rest == nil) {
        return number(-left);
    }
    while (complaint == NULL && (arguments = arguments->pair.rest) != nil) {
        left -= integer(arguments);
    }
    return complaint == NULL ? number(left) : NULL;
}

/* Two numbers, of which the second must not be 0 if it divides. */
static int two(Value arguments, int64_t *a, int64_t *b, int divides) {
    *a = integer(arguments);
    *b = complaint == NULL ? integer(arguments->pair.rest) : 0;
    if (complaint == NULL && divides && *b == 0) {
        fail("division by zero");
    }
    if (divides && *b == -1 && *a == INT64_MIN) {
        *a = 0; /* its negative does not fit */
    }
    return complaint == NULL;
}

static Value call_quotient(Value arguments) {
    int64_t a, b;
    return two(arguments, &a, &b, 1) ? number(a / b) : NULL;
}

static Value call_remainder(Value arguments) {
    int64_t a, b;
    return two(arguments, &a, &b, 1) ? number(a % b) : NULL;
}

#define COMPARISON(name, sign)                                                                     \
    static Value name(Value arguments) {                                                           \
        int64_t a, b;                                                                              \
        return two(arguments, &a, &b, 0) ? boolean(a sign b) : NULL;                               \
    }
COMPARISON(call_equal, ==)
COMPARISON(call_less, <)
COMPARISON(call_greater, >)
COMPARISON(call_at_most, <=)
COMPARISON(call_at_least, >=)

static Value call_not(Value arguments) {
    Value value = first(arguments);
    return value == NULL ? NULL : boolean(value == nil);
}

static Value call_eq(Value arguments) {
    Value a = first(arguments), b = second(arguments);
    if (a == NULL || b == NULL) {
        return NULL;
    }
    return boolean(a == b || (a->kind == NUMBER && b->kind == NUMBER && a->number == b->number));
}

static Value call_is_pair(Value arguments) {
    Value value = first(arguments);
    return value == NULL ? NULL : boolean(value->kind == PAIR);
}

static Value call_is_number(Value arguments) {
    Value value = first(arguments);
    return value == NULL ? NULL : boolean(value->kind == NUMBER);
}

static Value call_cons(Value arguments) {
    Value a = first(arguments), b = second(arguments);
    return a == NULL || b == NULL ? NULL : cons(a, b);
}

static Value call_car(Value arguments) {
    Value list = first(arguments);
    return list == NULL ? NULL : first(list);
}

static Value call_cdr(Value arguments) {
    Value list = first(arguments);
    return list == NULL ? NULL : rest(list);
}

static Value call_list(Value arguments) {
    return arguments;
}

static Value call_length(Value arguments) {
    int64_t length = 0;
    for (Value list = first(arguments); list != NULL && list->kind == PAIR; length++) {
        list = list->pair.rest;
    }
    return complaint == NULL ? number(length) : NULL;
}

static Value call_append(Value arguments) {
    Value joined = nil, *end = &joined;
    for (; arguments->kind == PAIR; arguments = arguments->pair.rest) {
        for (Value list = arguments->pair.first; list->kind == PAIR; list = list->pair.rest) {
            end = append_to(end, list->pair.first);
        }
    }
    return joined;
}

static Value apply(Value function, Value arguments) {
    Value quoted = nil, *end = &quoted;
    for (; arguments->kind == PAIR; arguments = arguments->pair.rest) {
        end = append_to(end, cons(quote, cons(arguments->pair.first, nil)));
    }
    return eval(cons(function, quoted), nil);
}

static Value call_apply(Value arguments) {
    Value function = first(arguments), list = second(arguments);
    return function == NULL || list == NULL ? NULL : apply(function, list);
}

static Value call_map(Value arguments) {
    Value function = first(arguments), list = second(arguments), values = nil, *end = &values;
    for (; list != NULL && list->kind == PAIR; list = list->pair.rest) {
        Value value = apply(function, cons(list->pair.first, nil));
        if (value == NULL) {
            return NULL;
        }
        end = append_to(end, value);
    }
    return list == NULL ? NULL : values;
}

static Value call_display(Value arguments) {
    Value value = first(arguments);
    if (value != NULL) {
        print(value);
    }
    return value == NULL ? NULL : nothing;
}

static Value call_newline(Value arguments) {
    putchar('\n');
    return nothing;
}

/* ---- the session ---- */

static void define_builtins(void) {
    static const struct { const char *name; Builtin call; } builtins[] = {
        {"+", call_add}, {"-", call_subtract}, {"*", call_multiply},
        {"quotient", call_quotient}, {"remainder", call_remainder},
        {"=", call_equal}, {"<", call_less}, {">", call_greater},
        {"<=", call_at_most}, {">=", call_at_least},
        {"not", call_not}, {"null?", call_not}, {"eq?", call_eq},
        {"pair?", call_is_pair}, {"number?", call_is_number},
        {"cons", call_cons}, {"car", call_car}, {"cdr", call_cdr}, {"list", call_list},
        {"length", call_length}, {"append", call_append}, {"map", call_map},
        {"apply", call_apply}, {"display", call_display}, {"newline", call_newline},
    };
    static const struct { const char *name; Value *symbol; } words[] = {
        {"#t", &truth}, {"quote", &quote}, {"define", &define}, {"lambda", &lambda},
        {"if", &if_}, {"cond", &cond}, {"let", &let}, {"begin", &begin},
        {"and", &and_}, {"or", &or_}, {"else", &else_},
    };
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        *words[i].symbol = symbol(words[i].name, strlen(words[i].name));
    }
    truth->symbol.global = truth;
    symbol("#f", 2)->symbol.global = nil;
    for (unsigned i = 0; i < sizeof builtins / sizeof *builtins; i++) {
        Value cell = new_cell(BUILTIN);
        cell->builtin.name = builtins[i].name;
        cell->builtin.call = builtins[i].call;
        symbol(builtins[i].name, strlen(builtins[i].name))->symbol.global = cell;
    }
}

int main(void) {
    define_builtins();
    for (;;) {
        complaint = NULL;
        depth = 0;
        Value expression = read();
        if (expression == NULL && complaint == NULL) {
            return 0;
        }
        Value value = expression == NULL ? NULL : eval(expression, nil);
        if (value == NULL) {
            printf("error: %s\n", complaint);
        } else if (value != nothing) {
            print(value);
            putchar('\n');
        }
        fflush(stdout);
    }
}
