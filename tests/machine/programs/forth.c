/* A Forth: words compiled to threaded code, control structures, a data space, recursion. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t cell;
typedef void (*primitive)(void);

typedef struct {
    char name[12];
    primitive code;
    int start; /* in the threaded code, if there is no primitive */
    int immediate;
} word;

enum { LITERAL = -1, BRANCH = -2, BRANCH_IF_ZERO = -3, EXIT = -4, DO = -5, LOOP = -6 };

static word words[80];
static int word_count, compiling, here;
static cell code[600], stack[64], returns[64], memory[32];
static int sp, rp, allotted;
static const char *input;

static cell pop(void) {
    if (sp == 0) {
        puts("? stack is empty");
        exit(4);
    }
    return stack[--sp];
}
static void push(cell x) { stack[sp++] = x; }

#define BINARY(name, expression) \
    static void name(void) {     \
        cell b = pop(), a = pop(); \
        push(expression);        \
    }
BINARY(add, a + b)
BINARY(sub, a - b)
BINARY(mul, a * b)
BINARY(divide, a / b)
BINARY(mod, a % b)
BINARY(less, -(a < b))
BINARY(equal, -(a == b))
BINARY(and, a & b)
BINARY(or, a | b)
BINARY(xor, a ^ b)
BINARY(shift, (cell)((uint32_t)a << b))
static void scale(void) { /* with a product of 64 bits */
    cell c = pop(), b = pop(), a = pop();
    push((cell)((int64_t)a * b / c));
}
static void dup(void) { push(stack[sp - 1]); }
static void drop(void) { pop(); }
static void swap(void) {
    cell b = pop(), a = pop();
    push(b), push(a);
}
static void over(void) { push(stack[sp - 2]); }
static void rot(void) {
    cell c = pop(), b = pop(), a = pop();
    push(b), push(c), push(a);
}
static void dot(void) { printf("%d ", pop()); }
static void emit(void) { putchar(pop()); }
static void newline(void) { putchar('\n'); }
static void fetch(void) { push(memory[pop()]); }
static void store(void) {
    cell at = pop();
    memory[at] = pop();
}
static void index_of_loop(void) { push(returns[rp - 1]); }

static int find(const char *name) {
    for (int i = word_count - 1; i >= 0; i--)
        if (strcmp(words[i].name, name) == 0) return i;
    return -1;
}

static int next_word(char *name) {
    while (isspace((unsigned char)*input)) input++;
    int n = 0;
    while (*input && !isspace((unsigned char)*input) && n < 11) name[n++] = *input++;
    name[n] = '\0';
    return n > 0;
}

static void run(int at) {
    int base = rp;
    for (;;) {
        cell c = code[at++];
        if (c >= 0) {
            if (words[c].code) {
                words[c].code();
            } else {
                returns[rp++] = at;
                at = words[c].start;
            }
        } else if (c == LITERAL) {
            push(code[at++]);
        } else if (c == BRANCH) {
            at = code[at];
        } else if (c == BRANCH_IF_ZERO) {
            at = pop() ? at + 1 : code[at];
        } else if (c == DO) {
            cell from = pop();
            returns[rp++] = pop();
            returns[rp++] = from;
        } else if (c == LOOP) {
            if (++returns[rp - 1] < returns[rp - 2])
                at = code[at];
            else
                at++, rp -= 2;
        } else {
            if (rp == base) return;
            at = returns[--rp];
        }
    }
}

static void define(void) {
    word *w = &words[word_count++];
    next_word(w->name);
    w->code = NULL;
    w->start = here;
    compiling = 1;
}
static void end(void) { code[here++] = EXIT, compiling = 0; }
static void if_(void) { code[here++] = BRANCH_IF_ZERO, push(here++); }
static void else_(void) {
    cell hole = pop();
    code[here++] = BRANCH, push(here++);
    code[hole] = here;
}
static void then(void) { code[pop()] = here; }
static void begin(void) { push(here); }
static void until(void) { code[here++] = BRANCH_IF_ZERO, code[here++] = pop(); }
static void do_(void) { code[here++] = DO, push(here); }
static void loop(void) { code[here++] = LOOP, code[here++] = pop(); }
static void recurse(void) { code[here++] = word_count - 1; }
static void variable(void) {
    char name[12];
    next_word(name);
    int at = here;
    code[here++] = LITERAL, code[here++] = allotted++, code[here++] = EXIT;
    strcpy(words[word_count].name, name);
    words[word_count++].start = at;
}

static void interpret(const char *text) {
    char name[12];
    for (input = text; next_word(name);) {
        int w = find(name);
        if (w >= 0 && (!compiling || words[w].immediate)) {
            if (words[w].code)
                words[w].code();
            else
                run(words[w].start);
        } else if (w >= 0) {
            code[here++] = w;
        } else if (isdigit((unsigned char)name[name[0] == '-'])) {
            cell x = (cell)strtol(name, NULL, 10);
            if (compiling)
                code[here++] = LITERAL, code[here++] = x;
            else
                push(x);
        } else {
            printf("? %s\n", name);
        }
    }
}

int main(void) {
    static const word known[] = {
        {"+", add, 0, 0}, {"-", sub, 0, 0}, {"*", mul, 0, 0}, {"/", divide, 0, 0}, {"mod", mod, 0, 0},
        {"<", less, 0, 0}, {"=", equal, 0, 0}, {"and", and, 0, 0}, {"or", or, 0, 0}, {"xor", xor, 0, 0},
        {"lshift", shift, 0, 0}, {"*/", scale, 0, 0}, {"dup", dup, 0, 0}, {"drop", drop, 0, 0},
        {"swap", swap, 0, 0}, {"over", over, 0, 0}, {"rot", rot, 0, 0}, {".", dot, 0, 0},
        {"emit", emit, 0, 0}, {"cr", newline, 0, 0}, {"@", fetch, 0, 0}, {"!", store, 0, 0},
        {"i", index_of_loop, 0, 0}, {":", define, 0, 0}, {";", end, 0, 1}, {"if", if_, 0, 1},
        {"else", else_, 0, 1}, {"then", then, 0, 1}, {"begin", begin, 0, 1}, {"until", until, 0, 1},
        {"do", do_, 0, 1}, {"loop", loop, 0, 1}, {"recurse", recurse, 0, 1}, {"variable", variable, 0, 0},
    };
    word_count = sizeof known / sizeof *known;
    memcpy(words, known, sizeof known);
    interpret(": square dup * ; : gcd begin swap over mod dup 0 = until drop ; 7 square . 1071 462 gcd . cr");
    interpret(": fact dup 2 < if drop 1 else dup 1 - recurse * then ; 10 fact . 13 fact . cr");
    interpret(": stars 0 do 42 emit loop cr ; 5 stars : table 6 1 do i square . loop cr ; table");
    interpret("variable total 0 total ! : sum 0 do i total @ + total ! loop ; 100 sum total @ . cr");
    interpret("1000000007 355 113 */ . 1 31 lshift . -7 2 / . -7 2 mod . 6 3 and 8 or 1 xor . cr");
    interpret("1 2 3 rot . . . unknown cr 1 0 < . + ");
    return 0;
}
