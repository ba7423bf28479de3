/* Settings as in .ini files: sections, continued lines, values of several types, expanded names. */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef bool (*handler)(void *user, const char *section, const char *name, const char *value);

static char *strip(char *s) {
    while (isspace((unsigned char)*s)) s++;
    char *end = s + strlen(s);
    while (end > s && isspace((unsigned char)end[-1])) end--;
    *end = '\0';
    return s;
}

static int parse(const char *text, handler handle, void *user) {
    char line[120], section[40] = "", name[40] = "";
    int number = 0, wrong = 0;
    while (*text) {
        size_t length = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        text += length + (text[length] == '\n');
        number++;
        bool continued = line[0] == ' ' && name[0];
        char *comment = strpbrk(line, ";#");
        if (comment != NULL) *comment = '\0';
        char *start = strip(line), *sign = strpbrk(start, "=:");
        size_t last = strlen(start);
        bool fine = true;
        if (*start == '\0') continue;
        if (*start == '[' && start[last - 1] == ']') {
            start[last - 1] = '\0';
            snprintf(section, sizeof section, "%s", start + 1);
            name[0] = '\0';
        } else if (continued) {
            fine = handle(user, section, name, start);
        } else if (sign != NULL) {
            *sign = '\0';
            snprintf(name, sizeof name, "%s", strip(start));
            fine = handle(user, section, name, strip(sign + 1));
        } else {
            fine = false;
        }
        if (!fine && wrong == 0) wrong = number;
    }
    return wrong;
}

struct settings {
    uint16_t port;
    int64_t limit;
    double ratio;
    bool verbose;
    unsigned flags;
    char path[64];
    int hosts;
};

static bool number(const char *text, long long low, long long high, long long *out) {
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 0);
    if (*end == 'k') *out *= 1000, end++;
    return errno == 0 && end != text && *end == '\0' && *out >= low && *out <= high;
}

static bool truth(const char *text, bool *out) {
    static const char *const yes[] = {"yes", "on", "true", "1"};
    *out = false;
    for (int i = 0; i < 4; i++)
        if (strcmp(text, yes[i]) == 0) return *out = true;
    return strcmp(text, "no") == 0 || strcmp(text, "off") == 0;
}

static bool take(void *user, const char *section, const char *name, const char *value) {
    struct settings *s = user;
    long long n;
    if (strcmp(section, "server") == 0) {
        if (strcmp(name, "port") == 0) {
            if (!number(value, 1, 65535, &n)) return false;
            s->port = (uint16_t)n;
        } else if (strcmp(name, "limit") == 0) {
            if (!number(value, INT64_MIN, INT64_MAX, &n)) return false;
            s->limit = n;
        } else if (strcmp(name, "host") == 0) {
            printf("host %d: %s\n", ++s->hosts, value);
        } else {
            return false;
        }
        return true;
    }
    if (strcmp(name, "ratio") == 0) return sscanf(value, "%lf", &s->ratio) == 1;
    if (strcmp(name, "verbose") == 0) return truth(value, &s->verbose);
    if (strcmp(name, "flags") == 0) {
        for (const char *p = value; (p = strpbrk(p, "rwx")) != NULL; p++)
            s->flags |= *p == 'r' ? 4 : *p == 'w' ? 2 : 1;
        return true;
    }
    if (strcmp(name, "path") == 0) {
        const char *variable = strstr(value, "${port}");
        if (variable == NULL) return snprintf(s->path, sizeof s->path, "%s", value) > 0;
        snprintf(s->path, sizeof s->path, "%.*s%u%s", (int)(variable - value), value, s->port, variable + 7);
        return true;
    }
    return false;
}

int main(void) {
    struct settings s = {.ratio = 1.0};
    int wrong = parse("; a file of settings\n[server]\nport = 0x1F90\nhost: alpha\n  beta ; two more\n  gamma\n"
                      "limit=-9223372036854775808\n\n[misc]\nratio = 2.5e-3 # small\nverbose=on\n"
                      "flags = r-x\npath= /run/${port}/x \n",
                      take, &s);
    printf("wrong line %d\n%u %lld %g %d %u '%s'\n", wrong, s.port, (long long)s.limit, s.ratio, s.verbose,
           s.flags, s.path);
    static const char *const mistakes[] = {"[server]\nport = 70000\n", "[a]\nnonsense\n", "[server]\nport=\n",
                                           "[server]\nlimit = 12345678901234567890\n", "ratio=0x1p-4\nverbose=maybe"};
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        printf("wrong line %d\n", parse(mistakes[i], take, &s));
    printf("%g\n", s.ratio);
    parse("[server]\nlimit = -12k", take, &s);
    printf("%lld\n", (long long)s.limit);
    return 0;
}
