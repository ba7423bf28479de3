/* Regular expressions: whether a text matches a pattern, what the first match is, how many there
 * are. Patterns have . [a-z] [^a-z] \d \w \s * + ? *? | ( ) ^ $, as elsewhere; the first way that
 * matches wins. */
#include <string.h>

/* A pattern is compiled to steps, which all threads follow side by side, the better ones first. */
enum { STEPS = 2048, ROOM = 65536 };
typedef enum { SET, SPLIT, JUMP, BEGIN, END, MATCH } Kind;
typedef struct {
    Kind kind;
    int to, other; /* `to` is preferred */
    unsigned set[8];
} Step;

typedef struct {
    int step, start;
} Thread;

static Step steps[STEPS];
static int count;
static const char *at;
static Thread threads[2][STEPS];
static int added[STEPS], round_number;

static void alternatives(void);

static Step *step(Kind kind) {
    if (count == STEPS) __builtin_trap();
    steps[count] = (Step){.kind = kind};
    return &steps[count++];
}

static void include(unsigned *set, int low, int high) {
    for (; low <= high; low++) set[low / 32] |= 1u << low % 32;
}

/* \d, \w, \s, their opposites, or a sign itself. */
static void escaped(unsigned *set) {
    unsigned own[8] = {0};
    int sign = (unsigned char)*at++, kind = sign | 32;
    if (!sign) __builtin_trap();
    if (kind == 'd' || kind == 'w') include(own, '0', '9');
    if (kind == 'w') {
        include(own, 'a', 'z');
        include(own, 'A', 'Z');
        include(own, '_', '_');
    }
    if (kind == 's') {
        include(own, 9, 13);
        include(own, ' ', ' ');
    }
    if (kind != 'd' && kind != 'w' && kind != 's') {
        sign = sign == 'n' ? '\n' : sign == 't' ? '\t' : sign;
        include(set, sign, sign);
        return;
    }
    for (int word = 0; word < 8; word++) set[word] |= sign == kind ? own[word] : ~own[word];
}

static void set_of_signs(void) {
    unsigned *set = step(SET)->set;
    int is_not = *at == '^';
    at += is_not;
    for (int first = 1; first || *at != ']'; first = 0) {
        if (!*at) __builtin_trap();
        int low = (unsigned char)*at++;
        if (low == '\\') {
            escaped(set);
        } else if (*at == '-' && at[1] != ']') {
            include(set, low, (unsigned char)at[1]);
            at += 2;
        } else {
            include(set, low, low);
        }
    }
    at++;
    for (int word = 0; word < 8 && is_not; word++) set[word] = ~set[word];
}

static void atom(void) {
    int sign = (unsigned char)*at++;
    if (sign == '(') {
        if (at[0] == '?' && at[1] == ':') at += 2;
        alternatives();
        if (*at++ != ')') __builtin_trap();
    } else if (sign == '[') {
        set_of_signs();
    } else if (sign == '^' || sign == '$') {
        step(sign == '^' ? BEGIN : END);
    } else if (sign == '\\') {
        escaped(step(SET)->set);
    } else if (sign == '.') {
        unsigned *set = step(SET)->set;
        include(set, 0, 255);
        set['\n' / 32] ^= 1u << '\n' % 32;
    } else if (sign == '*' || sign == '+' || sign == '?') {
        __builtin_trap();
    } else {
        include(step(SET)->set, sign, sign);
    }
}

/* Room for a step before others, which move on: they lead to each other as they did, and those
 * before them lead to the new one. */
static void before(int first) {
    step(SPLIT);
    memmove(steps + first + 1, steps + first, sizeof *steps * (unsigned)(count - 1 - first));
    for (int n = 0; n < count; n++) {
        steps[n].to += steps[n].to >= first + (n <= first);
        steps[n].other += steps[n].other >= first + (n <= first);
    }
}

static void repeated(void) {
    int first = count;
    atom();
    for (; *at == '*' || *at == '+' || *at == '?'; at++) {
        int sign = *at, lazy = at[1] == '?';
        at += lazy;
        if (sign == '+') {
            Step *made = step(SPLIT);
            made->to = lazy ? count : first;
            made->other = lazy ? first : count;
            continue;
        }
        before(first);
        if (sign == '*') step(JUMP)->to = first;
        steps[first] = (Step){SPLIT, lazy ? count : first + 1, lazy ? first + 1 : count, {0}};
    }
}

static void sequence(void) {
    while (*at && *at != '|' && *at != ')') repeated();
}

static void alternatives(void) {
    int first = count;
    sequence();
    while (*at == '|') {
        at++;
        before(first);
        int jump = count;
        step(JUMP);
        steps[first] = (Step){SPLIT, first + 1, count, {0}};
        first = count;
        sequence();
        steps[jump].to = count;
    }
}

static void compile(const char *pattern) {
    count = 0;
    at = pattern;
    alternatives();
    if (*at) __builtin_trap();
    step(MATCH);
}

/* Add a thread to a list, or those that it splits into here. */
static int follow(Thread *list, int length, int number, int start, const char *text, int place) {
    if (added[number] == round_number) return length;
    added[number] = round_number;
    Step *now = &steps[number];
    switch (now->kind) {
    case JUMP:
        return follow(list, length, now->to, start, text, place);
    case SPLIT:
        length = follow(list, length, now->to, start, text, place);
        return follow(list, length, now->other, start, text, place);
    case BEGIN:
        return place ? length : follow(list, length, number + 1, start, text, place);
    case END:
        if (text[place] && (text[place] != '\n' || text[place + 1])) return length;
        return follow(list, length, number + 1, start, text, place);
    default:
        list[length] = (Thread){number, start};
        return length + 1;
    }
}

/* The first match from a place on, or one that is the `whole` text: where it begins and ends; 0
 * if there is none. */
static int search(const char *text, int from, int whole, int *begin, int *end) {
    int now = 0, here = 0, found = 0;
    for (int place = from;; place++) {
        Thread *list = threads[now], *next = threads[!now];
        if (!found && !(whole && place)) { /* a match that begins later is worse */
            if (place == from) round_number++;
            here = follow(list, here, 0, place, text, place);
        }
        int sign = (unsigned char)text[place], there = 0;
        round_number++;
        for (int n = 0; n < here; n++) {
            Step *step = &steps[list[n].step];
            if (step->kind == MATCH) {
                if (whole && sign) continue;
                *begin = list[n].start;
                *end = place;
                found = 1;
                break; /* those behind it are worse */
            }
            if (sign && step->set[sign / 32] >> sign % 32 & 1)
                there = follow(next, there, list[n].step + 1, list[n].start, text, place + 1);
        }
        if (!sign || (found && !there)) return found;
        now = !now;
        here = there;
    }
}

/* Whether all of a text matches a regular expression. */
_Bool matches(const char *pattern, const char *text) {
    int begin, end;
    compile(pattern);
    return (_Bool)search(text, 0, 1, &begin, &end);
}

/* The first part of a text that matches a regular expression; nothing if there is none. */
const char *first_match(const char *pattern, const char *text) {
    static char said[ROOM];
    int begin, end;
    compile(pattern);
    if (!search(text, 0, 0, &begin, &end)) return 0;
    if (end - begin >= ROOM) __builtin_trap();
    memcpy(said, text + begin, (unsigned)(end - begin));
    said[end - begin] = 0;
    return said;
}

/* How often a regular expression matches in a text, each match behind the one before; behind one
 * that is empty, a letter is left out. */
int count_matches(const char *pattern, const char *text) {
    int begin, end, found = 0, length = (int)strlen(text);
    compile(pattern);
    for (int from = 0; from <= length && search(text, from, 0, &begin, &end); found++)
        from = end > begin ? end : end + 1;
    return found;
}
