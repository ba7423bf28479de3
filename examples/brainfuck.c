/* A Brainfuck interpreter.
 *
 *   curta run examples/brainfuck.c "++++++++[>+++++++++<-]>.<+++++[>++++++<-]>-.+++++++..+++.>++++++++++."
 *   curta run examples/brainfuck.c ",[.,]" --stdin "an echo"
 *
 * The program is the first argument; without one it is the input up to a "!", and the rest is the
 * program's own input. Runs of equal commands are folded and brackets matched before it starts.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAPE = 30000, MOST = 1 << 16 };

typedef struct {
    char command; /* one of + > . , [ ] or 0 at the end; '0' clears the cell */
    int32_t operand; /* how often, by how much, or the place of the other bracket */
} Step;

static Step steps[MOST];
static int step_count;
static uint8_t tape[TAPE];

static int fail(const char *what) {
    fflush(stdout);
    fprintf(stderr, "brainfuck: %s\n", what);
    return 2;
}

static void add_step(char command, int operand) {
    Step *last = &steps[step_count - 1];
    int folds = command == '+' || command == '>';
    if (folds && step_count > 0 && last->command == command) {
        last->operand += operand;
    } else {
        steps[step_count++] = (Step){command, operand};
    }
}

/* Returns 0 if the brackets do not match. */
static int compile(const char *text) {
    static int open[MOST];
    int depth = 0;
    for (; *text != 0 && step_count < MOST - 1; text++) {
        switch (*text) {
        case '+': add_step('+', 1); break;
        case '-': add_step('+', -1); break;
        case '>': add_step('>', 1); break;
        case '<': add_step('>', -1); break;
        case '.':
        case ',': add_step(*text, 0); break;
        case '[':
            open[depth++] = step_count;
            add_step('[', 0);
            break;
        case ']':
            if (depth == 0) {
                return 0;
            }
            int start = open[--depth];
            Step *body = &steps[start + 1];
            if (step_count == start + 2 && body->command == '+' && body->operand == -1) {
                step_count = start;
                add_step('0', 0); /* [-] */
            } else {
                steps[start].operand = step_count;
                add_step(']', start);
            }
            break;
        }
    }
    return depth == 0;
}

static int run(void) {
    int cell = 0;
    for (const Step *step = steps; step->command != 0; step++) {
        switch (step->command) {
        case '+': tape[cell] += step->operand; break;
        case '0': tape[cell] = 0; break;
        case '.': putchar(tape[cell]); break;
        case '>':
            cell += step->operand;
            if (cell < 0 || cell >= TAPE) {
                return fail("the program left its tape");
            }
            break;
        case ',': {
            fflush(stdout);
            int c = getchar();
            tape[cell] = c == EOF ? 0 : c;
            break;
        }
        case '[':
            if (tape[cell] == 0) {
                step = &steps[step->operand];
            }
            break;
        case ']':
            if (tape[cell] != 0) {
                step = &steps[step->operand];
            }
            break;
        }
    }
    return 0;
}

int main(int count, char **words) {
    static char read[MOST];
    const char *program = read;
    if (count > 1) {
        program = words[1];
    } else {
        int length = 0, c;
        while ((c = getchar()) != EOF && c != '!' && length < MOST - 1) {
            read[length++] = c;
        }
    }
    return compile(program) ? run() : fail("the brackets do not match");
}
