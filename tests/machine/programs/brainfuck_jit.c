/* Brainfuck compiled to folded operations: runs of + and >, clearing loops, multiplying loops. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADD, MOVE, OUT, IN, OPEN, CLOSE, SET, MULTIPLY };
static const char *const names[] = {"add", "move", "out", "in", "open", "close", "set", "multiply"};

typedef struct {
    uint8_t op;
    int16_t offset;
    int32_t value;
} operation;

static operation code[300];
static int count;

static int fold(const char **source, char up, char down) {
    int sum = 0;
    for (; **source == up || **source == down; ++*source) sum += **source == up ? 1 : -1;
    --*source;
    return sum;
}

/* A loop that only adds to other cells, and takes one from its own, is a few products. */
static int multiplies(int start) {
    int at = 0, deltas[17] = {0};
    for (int i = start + 1; i < count; i++) {
        if (code[i].op == MOVE)
            at += code[i].value;
        else if (code[i].op == ADD && at >= -8 && at <= 8)
            deltas[at + 8] += code[i].value;
        else
            return 0;
    }
    if (at != 0 || deltas[8] != -1) return 0;
    count = start;
    for (int i = 0; i < 17; i++)
        if (i != 8 && deltas[i] != 0) code[count++] = (operation){MULTIPLY, (int16_t)(i - 8), deltas[i]};
    code[count++] = (operation){SET, 0, 0};
    return 1;
}

static int compile(const char *source) {
    int open[32], depth = 0;
    count = 0;
    for (; *source; source++) {
        switch (*source) {
        case '+': case '-': code[count] = (operation){ADD, 0, fold(&source, '+', '-')}; count++; break;
        case '>': case '<': code[count] = (operation){MOVE, 0, fold(&source, '>', '<')}; count++; break;
        case '.': code[count++] = (operation){OUT, 0, 0}; break;
        case ',': code[count++] = (operation){IN, 0, 0}; break;
        case '[':
            open[depth++] = count;
            code[count++] = (operation){OPEN, 0, 0};
            break;
        case ']':
            if (depth == 0) return 0;
            if (multiplies(open[--depth])) break;
            code[open[depth]].value = count;
            code[count++] = (operation){CLOSE, 0, open[depth]};
        }
    }
    return depth == 0;
}

static uint64_t run(const char *input) {
    static uint8_t tape[256];
    uint8_t *cell = tape;
    uint64_t steps = 0;
    memset(tape, 0, sizeof tape);
    for (int pc = 0; pc < count; pc++, steps++) {
        const operation *o = &code[pc];
        switch (o->op) {
        case ADD: *cell = (uint8_t)(*cell + o->value); break;
        case MOVE: cell += o->value; break;
        case OUT: putchar(*cell); break;
        case IN: *cell = (uint8_t)(*input ? *input++ : 0); break;
        case OPEN: if (!*cell) pc = o->value; break;
        case CLOSE: if (*cell) pc = o->value; break;
        case SET: *cell = (uint8_t)o->value; break;
        case MULTIPLY: cell[o->offset] = (uint8_t)(cell[o->offset] + *cell * o->value); break;
        }
    }
    return steps;
}

static void execute(const char *source, const char *input) {
    if (!compile(source)) {
        puts("brackets do not match");
        return;
    }
    unsigned tally[8] = {0};
    for (int i = 0; i < count; i++) tally[code[i].op]++;
    uint64_t steps = run(input);
    printf("\n%d operations, %llu steps:", count, (unsigned long long)steps);
    for (int i = 0; i < 8; i++)
        if (tally[i]) printf(" %s %u", names[i], tally[i]);
    printf("\n");
}

int main(void) {
    execute("++++++++[>++++[>++>+++>+++>+<<<<-]>+>+>->>+[<]<-]>>.>---.+++++++..+++.>>.<-.<.+++.------.--------"
            ".>>+.>++.", "");
    execute(",[>,]<[.<]", "backwards");
    execute("+++++[>+++++[>+++++++<-]<-]>>.[-]<<++++++[>++++++++<-]>.+.+.", "");
    execute(">,>++++++[<-------->-],[<+>-]<.", "43");
    execute("+[[[", "");
    return 0;
}
