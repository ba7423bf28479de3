/* A compiler for a small language to byte code, and the stack machine that runs it. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum op { PUSH, LOAD, STORE, ADD, SUB, MUL, DIV, MOD, LT, EQ, JUMP, JUMP_IF_NOT, CALL, RETURN, PRINT, HALT };
static const char *const op_names[] = {"push", "load", "store", "add",  "sub",  "mul",    "div",   "mod",
                                       "lt",   "eq",   "jump",  "jz",   "call", "return", "print", "halt"};

typedef struct {
    uint8_t code[512];
    int length;
    char names[26];
    int functions[26];
} program;

static const char *source;
static program p;

static void emit(uint8_t byte) { p.code[p.length++] = byte; }

static void emit_word(int32_t word) {
    memcpy(p.code + p.length, &word, 4);
    p.length += 4;
}

static int hole(uint8_t op) {
    emit(op);
    emit_word(0);
    return p.length - 4;
}

static void patch(int place) {
    int32_t here = p.length;
    memcpy(p.code + place, &here, 4);
}

static char peek(void) {
    while (isspace((unsigned char)*source)) source++;
    return *source;
}

static int accept(const char *word) {
    peek();
    size_t n = strlen(word);
    if (strncmp(source, word, n) != 0) return 0;
    source += n;
    return 1;
}

static void need(const char *word) {
    if (accept(word)) return;
    printf("'%s' was expected before '%.10s'\n", word, source);
    exit(2);
}

static void expression(void);

static void factor(void) {
    char c = peek();
    if (isdigit((unsigned char)c)) {
        emit(PUSH);
        emit_word((int32_t)strtoll(source, (char **)&source, 10));
    } else if (isupper((unsigned char)c)) { /* a function of one argument */
        source++;
        need("(");
        expression();
        need(")");
        emit(CALL);
        emit_word(p.functions[c - 'A']);
    } else if (islower((unsigned char)c)) {
        source++;
        emit(LOAD);
        emit((uint8_t)(c - 'a'));
    } else {
        need("(");
        expression();
        need(")");
    }
}

static void binary(int level) {
    static const struct {
        const char *word;
        int level;
        uint8_t op;
    } table[] = {{"<", 0, LT}, {"==", 0, EQ}, {"+", 1, ADD}, {"-", 1, SUB}, {"*", 2, MUL}, {"/", 2, DIV}, {"%", 2, MOD}};
    if (level == 3) {
        factor();
        return;
    }
    binary(level + 1);
    for (int found = 1; found;) {
        found = 0;
        for (size_t i = 0; i < sizeof table / sizeof *table && !found; i++)
            if (table[i].level == level && accept(table[i].word)) {
                binary(level + 1);
                emit(table[i].op);
                found = 1;
            }
    }
}

static void expression(void) { binary(0); }

static void statement(void) {
    if (accept("{")) {
        while (!accept("}")) statement();
    } else if (accept("while")) {
        int start = p.length;
        expression();
        int end = hole(JUMP_IF_NOT);
        statement();
        emit(JUMP);
        emit_word(start);
        patch(end);
    } else if (accept("if")) {
        expression();
        int otherwise = hole(JUMP_IF_NOT);
        statement();
        if (accept("else")) {
            int end = hole(JUMP);
            patch(otherwise);
            statement();
            patch(end);
        } else {
            patch(otherwise);
        }
    } else if (accept("print")) {
        expression();
        emit(PRINT);
    } else if (accept("return")) {
        expression();
        emit(RETURN);
    } else if (accept("def")) {
        char name = peek();
        source++;
        int over = hole(JUMP);
        p.functions[name - 'A'] = p.length;
        statement();
        patch(over);
    } else {
        char name = peek();
        source++;
        need("=");
        expression();
        emit(STORE);
        emit((uint8_t)(name - 'a'));
    }
}

static int32_t word_at(int pc) {
    int32_t word;
    memcpy(&word, p.code + pc, 4);
    return word;
}

static unsigned run(void) {
    int64_t stack[128], globals[26] = {0};
    int returns[64], sp = 0, depth = 0;
    int64_t arguments[64];
    unsigned steps = 0;
    for (int pc = 0;; steps++) {
        uint8_t op = p.code[pc++];
        int64_t a, b;
        switch (op) {
        case PUSH: stack[sp++] = word_at(pc); pc += 4; break;
        case LOAD: {
            uint8_t name = p.code[pc++];
            stack[sp++] = name == 'n' - 'a' && depth > 0 ? arguments[depth - 1] : globals[name];
            break;
        }
        case STORE: globals[p.code[pc++]] = stack[--sp]; break;
        case JUMP: pc = word_at(pc); break;
        case JUMP_IF_NOT: pc = stack[--sp] ? pc + 4 : word_at(pc); break;
        case CALL:
            arguments[depth] = stack[--sp];
            returns[depth++] = pc + 4;
            pc = word_at(pc);
            break;
        case RETURN: pc = returns[--depth]; break;
        case PRINT: printf("%lld\n", (long long)stack[--sp]); break;
        case HALT: return steps;
        default:
            b = stack[--sp], a = stack[--sp];
            switch (op) {
            case ADD: a += b; break;
            case SUB: a -= b; break;
            case MUL: a *= b; break;
            case DIV: a /= b; break;
            case MOD: a %= b; break;
            case LT: a = a < b; break;
            default: a = a == b;
            }
            stack[sp++] = a;
        }
    }
}

int main(void) {
    source = "def F { if n < 2 return n  return F(n - 1) + F(n - 2) }\n"
             "def G { if n == 0 return 1  return n * G(n - 1) }\n"
             "print F(9)  print G(20)\n"
             "a = 1071 b = 462 while 0 < b { t = a % b a = b b = t } print a\n"
             "i = 0 s = 0 while i < 20 { if i % 3 == 0 s = s + i * i else s = s - i i = i + 1 } print s\n"
             "print (1 + 2) * 3 - 7 / 2 print 1 - 2 * 2000000000 / 7";
    while (peek()) statement();
    emit(HALT);
    printf("%d bytes:", p.length);
    for (int pc = 0, n = 0; n < 10; n++) {
        uint8_t op = p.code[pc++];
        printf(" %s", op_names[op]);
        if (op == PUSH || op == JUMP || op == JUMP_IF_NOT || op == CALL) printf(" %d", word_at(pc)), pc += 4;
        if (op == LOAD || op == STORE) printf(" %c", p.code[pc++] + 'a');
    }
    printf("\n");
    unsigned steps = run();
    printf("%u steps\n", steps);
    return 0;
}
