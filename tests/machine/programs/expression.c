/* A calculator for doubles: a tree by precedence climbing, derived and simplified, then evaluated. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct node {
    char op; /* + - * / ^, n for a number, x for the variable, or a function's letter */
    double number;
    struct node *a, *b;
} node;

static node pool[400];
static int used;
static const char *at, *mistake;

static const struct {
    const char *name;
    char op;
} functions[] = {{"sqrt", 'q'}, {"exp", 'e'}, {"ln", 'l'}, {"abs", 'b'}};

static node *make(char op, node *a, node *b) {
    node *n = &pool[used++];
    *n = (node){op, 0, a, b};
    return n;
}

static node *constant(double x) {
    node *n = make('n', NULL, NULL);
    n->number = x;
    return n;
}

static node *parse(int lowest);

static node *primary(void) {
    while (*at == ' ') at++;
    if (isdigit((unsigned char)*at) || *at == '.') {
        char *end;
        double x = strtod(at, &end);
        at = end;
        return constant(x);
    }
    if (*at == '(') {
        at++;
        node *n = parse(0);
        if (*at != ')')
            mistake = "')' is missing";
        else
            at++;
        return n;
    }
    if (*at == '-') {
        at++;
        return make('-', constant(0), parse(3));
    }
    if (*at == 'x') return at++, make('x', NULL, NULL);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        size_t length = strlen(functions[i].name);
        if (strncmp(at, functions[i].name, length) == 0) {
            at += length;
            return make(functions[i].op, primary(), NULL);
        }
    }
    mistake = *at ? "what is this?" : "it ends too early";
    return constant(NAN);
}

static int binding(char op) {
    switch (op) {
    case '+': case '-': return 1;
    case '*': case '/': return 2;
    case '^': return 4;
    default: return 0;
    }
}

static node *parse(int lowest) {
    node *left = primary();
    for (;;) {
        while (*at == ' ') at++;
        char op = *at;
        int strength = binding(op);
        if (strength == 0 || strength <= lowest || mistake) return left;
        at++;
        left = make(op, left, parse(op == '^' ? strength - 1 : strength));
    }
}

static double evaluate(const node *n, double x) {
    double a = n->a ? evaluate(n->a, x) : 0, b = n->b ? evaluate(n->b, x) : 0;
    switch (n->op) {
    case 'n': return n->number;
    case 'x': return x;
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    case '/': return a / b;
    case 'q': return sqrt(a);
    case 'b': return fabs(a);
    case 'e': return exp(a);
    case 'l': return log(a);
    default: {
        if (b != floor(b) || fabs(b) > 64) return pow(a, b);
        double product = 1;
        for (int i = (int)fabs(b); i > 0; i--) product *= a;
        return b < 0 ? 1 / product : product;
    }
    }
}

static int is(const node *n, double x) { return n->op == 'n' && n->number == x; }

static node *simple(char op, node *a, node *b) {
    if (a->op == 'n' && b->op == 'n' && op != '^') return constant(evaluate(make(op, a, b), 0));
    if (op == '+' && is(a, 0)) return b;
    if ((op == '+' || op == '-') && is(b, 0)) return a;
    if (op == '*' && (is(a, 0) || is(b, 0))) return constant(0);
    if (op == '*' && is(a, 1)) return b;
    if ((op == '*' || op == '/' || op == '^') && is(b, 1)) return a;
    return make(op, a, b);
}

static node *derive(node *n) {
    node *a = n->a, *b = n->b;
    switch (n->op) {
    case 'n': return constant(0);
    case 'x': return constant(1);
    case '+': case '-': return simple(n->op, derive(a), derive(b));
    case '*': return simple('+', simple('*', derive(a), b), simple('*', a, derive(b)));
    case '/':
        return simple('/', simple('-', simple('*', derive(a), b), simple('*', a, derive(b))),
                      simple('^', b, constant(2)));
    case '^': /* a constant exponent */
        return simple('*', simple('*', b, simple('^', a, simple('-', b, constant(1)))), derive(a));
    case 'q': return simple('/', derive(a), simple('*', constant(2), n));
    case 'e': return simple('*', n, derive(a));
    case 'l': return simple('/', derive(a), a);
    default: return simple('*', derive(a), simple('/', a, n));
    }
}

static void print(const node *n) {
    if (n->op == 'n') {
        printf("%g", n->number);
    } else if (n->op == 'x') {
        putchar('x');
    } else if (n->b != NULL) {
        putchar('(');
        print(n->a);
        putchar(n->op);
        print(n->b);
        putchar(')');
    } else {
        for (size_t i = 0; i < 4; i++)
            if (functions[i].op == n->op) printf("%s(", functions[i].name);
        print(n->a);
        putchar(')');
    }
}

int main(void) {
    static const char *const texts[] = {"1 + 2*3 - 4/5", "2^3^2 - (x - 1)^3", "sqrt(x^2 + 1)/x", "-x^2 + abs x",
                                        "x*ln(x) + exp(-x/2)", "(1 + 2", "3 * $", "7 /"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        at = texts[i], mistake = NULL, used = 0;
        node *tree = parse(0);
        if (mistake == NULL && *at) mistake = "what is this?";
        if (mistake) {
            printf("%s: at %d: %s\n", texts[i], (int)(at - texts[i]), mistake);
            continue;
        }
        print(tree);
        node *slope = derive(tree);
        printf(" = %.12g, d/dx = ", evaluate(tree, 1.5));
        print(slope);
        printf(" = %.12g\n", evaluate(slope, 1.5));
    }
    return 0;
}
