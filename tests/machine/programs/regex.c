/* Regular expressions: compiled to a small program (after Thompson), run on sets of threads. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHAR, ANY, SET, SPLIT, JUMP, START, END, MATCH };

typedef struct {
    uint8_t op, symbol;
    int16_t x, y;
    uint64_t set[4];
} instruction;

static instruction code[128];
static int count;
static const char *pattern;

static int emit(int op, int x, int y) {
    code[count] = (instruction){.op = (uint8_t)op, .x = (int16_t)x, .y = (int16_t)y};
    return count++;
}

static void insert(int place, int op, int x, int y) {
    memmove(&code[place + 1], &code[place], (size_t)(count - place) * sizeof *code);
    for (int i = place + 1; i <= count; i++)
        if (code[i].op == SPLIT || code[i].op == JUMP) {
            if (code[i].x >= place) code[i].x++;
            if (code[i].y >= place) code[i].y++;
        }
    code[place] = (instruction){.op = (uint8_t)op, .x = (int16_t)x, .y = (int16_t)y};
    count++;
}

static void add_range(instruction *in, int from, int to) {
    for (int c = from; c <= to; c++) in->set[c >> 6] |= 1ULL << (c & 63);
}

static void parse_set(void) {
    instruction *in = &code[emit(SET, 0, 0)];
    bool negated = *pattern == '^';
    pattern += negated;
    do {
        int from = (uint8_t)*pattern++, to = from;
        if (from == '\\') from = to = (uint8_t)*pattern++;
        if (pattern[0] == '-' && pattern[1] != ']') to = (uint8_t)pattern[1], pattern += 2;
        add_range(in, from, to);
    } while (*pattern && *pattern != ']');
    pattern++;
    for (int i = 0; negated && i < 4; i++) in->set[i] = ~in->set[i];
}

static void parse_choice(void);

static void parse_atom(void) {
    char c = *pattern++;
    if (c == '(') {
        parse_choice();
        pattern += *pattern == ')';
    } else if (c == '[') {
        parse_set();
    } else if (c == '.') {
        emit(ANY, 0, 0);
    } else if (c == '^' || c == '$') {
        emit(c == '^' ? START : END, 0, 0);
    } else if (c == '\\' && *pattern == 'd') {
        pattern++;
        add_range(&code[emit(SET, 0, 0)], '0', '9');
    } else {
        if (c == '\\') c = *pattern++;
        code[emit(CHAR, 0, 0)].symbol = (uint8_t)c;
    }
}

static void parse_sequence(void) {
    while (*pattern && *pattern != '|' && *pattern != ')') {
        int place = count;
        parse_atom();
        for (; *pattern && strchr("*+?", *pattern); pattern++) {
            if (*pattern == '+') {
                int split = emit(SPLIT, place, 0);
                code[split].y = (int16_t)count;
            } else if (*pattern == '*') {
                insert(place, SPLIT, place + 1, count + 2);
                emit(JUMP, place, place);
            } else {
                insert(place, SPLIT, place + 1, count + 1);
            }
        }
    }
}

static void parse_choice(void) {
    int place = count;
    parse_sequence();
    if (*pattern != '|') return;
    pattern++;
    insert(place, SPLIT, place + 1, count + 2);
    int jump = emit(JUMP, 0, 0);
    parse_choice();
    code[jump].x = code[jump].y = (int16_t)count;
}

typedef struct {
    int threads[128], count;
    uint32_t seen[4];
} set;

static void follow(set *s, int at, bool first, bool last) {
    if (s->seen[at >> 5] >> (at & 31) & 1) return;
    s->seen[at >> 5] |= 1u << (at & 31);
    switch (code[at].op) {
    case JUMP: follow(s, code[at].x, first, last); break;
    case SPLIT:
        follow(s, code[at].x, first, last);
        follow(s, code[at].y, first, last);
        break;
    case START:
        if (first) follow(s, at + 1, first, last);
        break;
    case END:
        if (last) follow(s, at + 1, first, last);
        break;
    default: s->threads[s->count++] = at;
    }
}

static int longest(const char *text, const char *start) {
    set now = {.count = 0}, next;
    int best = -1;
    follow(&now, 0, start == text, *start == '\0');
    for (const char *p = start; now.count > 0; p++) {
        memset(&next, 0, sizeof next);
        for (int i = 0; i < now.count; i++) {
            const instruction *in = &code[now.threads[i]];
            uint8_t c = (uint8_t)*p;
            if (in->op == MATCH)
                best = (int)(p - start);
            else if (c && (in->op == ANY || (in->op == CHAR && in->symbol == c) ||
                           (in->op == SET && in->set[c >> 6] >> (c & 63) & 1)))
                follow(&next, now.threads[i] + 1, false, p[1] == '\0');
        }
        if (*p == '\0') break;
        now = next;
    }
    return best;
}

static void search(const char *p, const char *text) {
    pattern = p;
    count = 0;
    parse_choice();
    emit(MATCH, 0, 0);
    printf("/%s/ in '%s':", p, text);
    for (const char *at = text;; at++) {
        int length = longest(text, at);
        if (length > 0) {
            printf(" '%.*s'@%d", length, at, (int)(at - text));
            at += length - 1;
        }
        if (*at == '\0') break;
    }
    printf(" (%d)\n", count);
}

int main(void) {
    search("ab*c", "ac abc abbbc bc");
    search("(cat|dog|cattle)s?", "cats and a cattle dog");
    search("[a-z_][a-z0-9_]*", "x1 = foo_bar + 27");
    search("-?\\d+(\\.\\d+)?", "3, -14.15 and 92.6x");
    search("^[^ ]+", "first word");
    search("(a|b)*abb$", "ababb aabb babb");
    search("((a?)(a?)(a?)(a?)aaaa)", "aaaaaa");
    search("x*", "yyy");
    return 0;
}
