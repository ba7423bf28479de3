/* JSON: parsed into a tree, looked up by paths, printed again; errors with their places. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { NOTHING, NO, YES, NUMBER, TEXT, LIST, OBJECT } kind;

typedef struct value {
    kind kind;
    double number;
    char *text; /* of a text, or the name of a member */
    struct value *first, *next;
    char *name;
} value;

typedef struct {
    const char *start, *at;
    const char *error;
} parser;

static value *parse_value(parser *p, int depth);

static void blanks(parser *p) {
    while (isspace((unsigned char)*p->at)) p->at++;
}

static void *fail(parser *p, const char *what) {
    if (p->error == NULL) p->error = what;
    return NULL;
}

static void put_utf8(char **out, unsigned c) {
    if (c < 0x80) {
        *(*out)++ = (char)c;
    } else if (c < 0x800) {
        *(*out)++ = (char)(0xC0 | c >> 6);
        *(*out)++ = (char)(0x80 | (c & 63));
    } else {
        *(*out)++ = (char)(0xE0 | c >> 12);
        *(*out)++ = (char)(0x80 | (c >> 6 & 63));
        *(*out)++ = (char)(0x80 | (c & 63));
    }
}

static char *parse_text(parser *p) {
    if (*p->at != '"') return fail(p, "a text was expected");
    char *text = malloc(strlen(p->at)), *out = text;
    for (p->at++; *p->at != '"'; p->at++) {
        if ((unsigned char)*p->at < 32) {
            free(text);
            return fail(p, "the text has no end");
        }
        if (*p->at != '\\') {
            *out++ = *p->at;
            continue;
        }
        const char *plain = "\"\\/bfnrt", *meant = "\"\\/\b\f\n\r\t", *found;
        p->at++;
        unsigned code;
        if (*p->at == 'u' && sscanf(p->at + 1, "%4x", &code) == 1) {
            put_utf8(&out, code);
            p->at += 4;
        } else if (*p->at && (found = strchr(plain, *p->at)) != NULL) {
            *out++ = meant[found - plain];
        } else {
            free(text);
            return fail(p, "unknown escape");
        }
    }
    p->at++;
    *out = '\0';
    return text;
}

static value *make(kind k) {
    value *v = calloc(1, sizeof *v);
    v->kind = k;
    return v;
}

static void drop(value *v) {
    while (v != NULL) {
        value *next = v->next;
        drop(v->first);
        free(v->text);
        free(v->name);
        free(v);
        v = next;
    }
}

static value *parse_members(parser *p, kind k, char end, int depth) {
    value *whole = make(k), **last = &whole->first;
    p->at++;
    blanks(p);
    if (*p->at == end) return p->at++, whole;
    for (;;) {
        char *name = NULL;
        blanks(p);
        if (k == OBJECT) {
            if ((name = parse_text(p)) == NULL) break;
            blanks(p);
            if (*p->at++ != ':') {
                p->at--;
                free(name);
                fail(p, "a colon was expected");
                break;
            }
        }
        if ((*last = parse_value(p, depth + 1)) == NULL) {
            free(name);
            break;
        }
        (*last)->name = name;
        last = &(*last)->next;
        blanks(p);
        if (*p->at == end) return p->at++, whole;
        if (*p->at++ != ',') {
            p->at--;
            fail(p, "a comma was expected");
            break;
        }
    }
    drop(whole);
    return NULL;
}

static value *parse_value(parser *p, int depth) {
    static const struct {
        const char *word;
        kind kind;
    } words[] = {{"null", NOTHING}, {"false", NO}, {"true", YES}};
    if (depth > 16) return fail(p, "too deep");
    blanks(p);
    if (*p->at == '{') return parse_members(p, OBJECT, '}', depth);
    if (*p->at == '[') return parse_members(p, LIST, ']', depth);
    if (*p->at == '"') {
        char *text = parse_text(p);
        if (text == NULL) return NULL;
        value *v = make(TEXT);
        v->text = text;
        return v;
    }
    for (int i = 0; i < 3; i++)
        if (strncmp(p->at, words[i].word, strlen(words[i].word)) == 0) {
            p->at += strlen(words[i].word);
            return make(words[i].kind);
        }
    char *end;
    double number = strtod(p->at, &end);
    if (end == p->at || !(isdigit((unsigned char)*p->at) || *p->at == '-'))
        return fail(p, "a value was expected");
    p->at = end;
    value *v = make(NUMBER);
    v->number = number;
    return v;
}

static void print(const value *v) {
    static const char *const words[] = {"null", "false", "true"};
    if (v->kind <= YES) printf("%s", words[v->kind]);
    if (v->kind == NUMBER) printf("%.15g", v->number);
    if (v->kind == TEXT) {
        putchar('"');
        for (const char *c = v->text; *c; c++)
            if (*c == '"' || *c == '\\')
                printf("\\%c", *c);
            else if ((unsigned char)*c < 32)
                printf("\\u%04x", *c);
            else
                putchar(*c);
        putchar('"');
    }
    if (v->kind < LIST) return;
    putchar(v->kind == LIST ? '[' : '{');
    for (const value *m = v->first; m != NULL; m = m->next) {
        if (m->name) printf("\"%s\":", m->name);
        print(m);
        if (m->next) putchar(',');
    }
    putchar(v->kind == LIST ? ']' : '}');
}

static const value *get(const value *v, ...) { /* names, up to NULL */
    va_list names;
    va_start(names, v);
    for (const char *name; v != NULL && (name = va_arg(names, const char *)) != NULL;) {
        const value *m = v->first;
        if (v->kind == LIST)
            for (int i = atoi(name); m != NULL && i > 0; i--) m = m->next;
        else
            while (m != NULL && strcmp(m->name, name) != 0) m = m->next;
        v = m;
    }
    va_end(names);
    return v;
}

int main(void) {
    static const char *const texts[] = {
        " {\"name\": \"curta\", \"year\": 1948, \"parts\": [605, -0.5, 1.25e3, []],\n"
        "  \"inventor\": {\"first\": \"Curt\", \"alive\": false}, \"note\": null, \"mass\": 2.3e-1}",
        "[1, 2.5, \"\\u00e9\\u20ac\\n\\\"quoted\\\"\", true, {\"deep\": [[[null]]]}]",
        "[1, 2",
        "{\"a\" 1}",
        "\"open",
        "[tru]",
        "[[[[[[[[[[[[[[[[[[0]]]]]]]]]]]]]]]]]]",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        parser p = {texts[i], texts[i], NULL};
        value *v = parse_value(&p, 0);
        if (v == NULL) {
            printf("error at %d: %s\n", (int)(p.at - p.start), p.error);
            continue;
        }
        print(v);
        putchar('\n');
        const value *found = get(v, "parts", "2", NULL);
        if (found) printf("parts.2 = %g\n", found->number);
        found = get(v, "inventor", "first", NULL);
        if (found) printf("inventor.first = %s\n", found->text);
        drop(v);
    }
    return 0;
}
