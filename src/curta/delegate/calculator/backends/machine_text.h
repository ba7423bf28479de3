/* The calculator's text: programs in, answers out. */

/* ---- input and output, through buffers of their own ---- */

static char heard[4096], said[4096];
static int heard_length, heard_at, said_length;

static int next_character(void) {
    if (heard_at >= heard_length) {
        heard_length = (int)read(0, heard, sizeof heard);
        heard_at = 0;
    }
    return heard_length > 0 ? heard[heard_at++] : -1;
}

static void flush(void) {
    for (int at = 0; at < said_length;) {
        int written = (int)write(1, said + at, said_length - at);
        if (written <= 0) break;
        at += written;
    }
    said_length = 0;
}

static void say(char character) {
    if (said_length == sizeof said) flush();
    said[said_length++] = character;
}

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
    if (status == UNDEFINED) say_text("undefined");
    else if (status == LARGE) say_text("large");
    else if (status == INEXACT || value->inexact) say_text("inexact");
    else {
        say_number(&value->above);
        if (!is_whole(value)) {
            say('/');
            say_number(&value->below);
        }
    }
    say('\n');
    flush();
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

static uint32_t decimal(const char *digits) {
    uint32_t value = 0;
    while (*digits >= '0' && *digits <= '9') value = value * 10 + (uint32_t)(*digits++ - '0');
    return value;
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

/* ---- programs ---- */

static Rational stack[STACK];
static int height;

static void push(void) {
    Rational *to = &stack[height++];
    set_rational(to, 0);
    if (word[0] == '!') return fail(LARGE);
    if (word[0] == '?') {
        to->inexact = 1;
        return;
    }
    const char *behind = read_number(&to->above, word);
    if (*behind == '/') read_number(&to->below, behind + 1);
    check(to);
}

static int is_name(const char *name, const char *text) {
    while (*name && *name == *text) name++, text++;
    return *name == 0 && *text == '/';
}

static void apply(void) {
    int operands = 0, at = 0, count = sizeof OPERATIONS / sizeof *OPERATIONS, inexact = 0;
    while (at < count && !is_name(OPERATIONS[at].name, word + 1)) at++;
    for (const char *text = word; *text; text++) {
        if (*text == '/') operands = (int)decimal(text + 1);
    }
    if (at == count || operands < 1 || operands > height) return fail(INEXACT);
    height -= operands;
    Rational *given = stack + height++;
    for (int i = 0; i < operands; i++) inexact |= given[i].inexact;
    if (!inexact) {
        OPERATIONS[at].apply(given, operands);
        if (status == FINE && !given->inexact) check(given);
    }
    given->inexact |= inexact;
}

int main(void) {
    read_word();
    most_bits = decimal(word);
    read_word();
    most_below_bits = decimal(word);
    int end = read_word();
    most_exponent = decimal(word);
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
