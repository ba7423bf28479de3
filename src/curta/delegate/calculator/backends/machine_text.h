/* The calculator's text: programs in, answers out. */

/* ---- input and output, byte by byte ---- */

#ifdef __wasm__
#define NATIVE(name) __attribute__((import_module("curta"), import_name(name)))
NATIVE("read") int next_character(void); /* or -1 */
NATIVE("write") void write_byte(int file, int byte);
#else
#include <stdio.h>
#define next_character getchar
#define write_byte(file, byte) putchar(byte)
#endif

static void say(char character) { write_byte(1, character); }

static void say_text(const char *text) {
    while (*text) say(*text++);
}

static void say_number(const Number *number) {
    if (number->negative) say('-');
    int digits = (bits(number) + 3) / 4;
    if (digits == 0) say('0');
    for (int i = digits - 1; i >= 0; i--) {
        say("0123456789abcdef"[number->limbs[i / 4] >> 4 * (i % 4) & 15]);
    }
}

static void say_answer(const Rational *value) {
    static const char *const FAILURES[] = {"", "inexact", "undefined", "large"};
    if (value->inexact) fail(INEXACT);
    say_text(FAILURES[status]);
    if (status == FINE) {
        say_number(&value->above);
        if (!is_whole(value)) {
            say('/');
            say_number(&value->below);
        }
    }
    say('\n');
}

/* ---- words ---- */

static char word[LONGEST_WORD + 1];

/* The next word, and what ends it: a space, a new line, or -1 at the end of the input. */
static int read_word(void) {
    int length = 0, character = next_character();
    while (character != ' ' && character != '\n' && character != -1) {
        if (length < LONGEST_WORD) word[length++] = (char)character;
        character = next_character();
    }
    word[length] = 0;
    return character;
}

static unsigned digit(char character) {
    return (unsigned)(character <= '9' ? character - '0' : character - 'a' + 10);
}

/* Hexadecimal digits up to the end or a slash; returns what is behind them. */
static const char *read_number(Number *number, const char *text) {
    int negative = *text == '-', digits = 0;
    text += negative;
    while (text[digits] != 0 && text[digits] != '/') digits++;
    number->negative = negative;
    number->length = (digits + 3) / 4;
    memset(number->limbs, 0, number->length * sizeof *number->limbs);
    for (int i = 0; i < digits; i++) {
        number->limbs[i / 4] |= (uint16_t)(digit(text[digits - 1 - i]) << 4 * (i % 4));
    }
    trim(number);
    return text + digits;
}

static void read_rational(Rational *to, const char *text) {
    const char *behind = read_number(&to->above, text);
    if (*behind == '/') read_number(&to->below, behind + 1);
}

/* ---- programs ---- */

static Rational stack[STACK];
static int height;

static void push(void) {
    Rational *to = &stack[height++];
    set_rational(to, 0);
    if (word[0] == '!') return fail(LARGE);
    to->inexact = word[0] == '?';
    if (!to->inexact) read_rational(to, word);
    check(to);
}

/* The operation that the word says: its number over how many operands it takes. */
static void apply(void) {
    static Rational said;
    read_rational(&said, word + 1);
    int operands = (int)size(&said.below), inexact = 0;
    if (operands < 1 || operands > height) return fail(INEXACT);
    height -= operands;
    Rational *given = stack + height++;
    for (int i = 0; i < operands; i++) inexact |= given[i].inexact;
    if (!inexact) {
        operate(size(&said.above), given, operands);
        if (status == FINE && !given->inexact) check(given);
    }
    given->inexact |= inexact;
}

int main(void) {
    uint32_t *const budget[] = {&most_bits, &most_below_bits, &most_exponent};
    int end = 0;
    for (int i = 0; i < 3; i++) {
        end = read_word();
        read_number(&stack->above, word);
        *budget[i] = size(&stack->above);
    }
    while (end != -1) {
        status = FINE;
        height = overflown = 0;
        do {
            end = read_word();
            if (word[0] == 0 || status != FINE) continue;
            if (word[0] == ':') apply();
            else if (height < STACK) push();
            else fail(LARGE);
        } while (end == ' ');
        if (height > 0) say_answer(stack);
    }
    return 0;
}
