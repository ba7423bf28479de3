/* Where formatted text goes, and what comes back: streams, buffers, numbered arguments, errors. */
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

static void show(const char *name, int result) {
    fprintf(stderr, "%s: %d, %d\n", name, result, errno);
    errno = 0;
}

#define TRY(...)                                        \
    do {                                                \
        char text[40];                                  \
        memset(text, '#', sizeof text);                 \
        int result = snprintf(text, 32, __VA_ARGS__);   \
        text[39] = 0;                                   \
        puts(text);                                     \
        show(#__VA_ARGS__, result);                     \
    } while (0)

static void numbered(void) {
    int number = 0;
    TRY("%2$d %1$d", 1, 2);
    TRY("%2$*1$d|%3$.*1$f|%3$g", 7, 42, 2.5);
    TRY("%1$d %1$x %1$o", 99);
    TRY("%3$s %1$lld %2$Lf", -5LL, 1.25L, "x");
    TRY("%1$s%2$n%3$hhd", "abc", &number, 1000);
    show("numbered", number);
    TRY("%9$d", 1, 2, 3, 4, 5, 6, 7, 8, 9);
    TRY("%1$d %3$d", 1, 2, 3);
    TRY("%1$m", 1);
    TRY("%1$*d", 1, 2);
    TRY("%10$d", 1);
    TRY("%1$d%%%2$c", 1, 'c');
}

static void invalid(void) {
    TRY("%");
    TRY("text %");
    TRY("%y", 1);
    TRY("one %d then %y", 1, 2);
    TRY("%hs", "no");
    TRY("%Ld", 1LL);
    TRY("%lp", (void *)0);
    TRY("%lll", 1);
    TRY("%hhhd", 1);
    TRY("%lm");
    TRY("%D", 1);
    TRY("%lC", 1);
    TRY("%-%");
    TRY("%5%");
    TRY("%\xe9", 1);
    TRY("%{", 1);
    TRY("%`", 1);
    TRY("%99999999999d", 1);
    TRY("%.99999999999d", 1);
    TRY("%.99999999999f", 1.5);
    TRY("%.99999999999s", "text");
    TRY("%.99999999999c", 'c');
    TRY("%*.*d", -2147483647 - 1, 3, 7);
}

static void long_ones(void) {
    show("width", snprintf(0, 0, "%2147483647d", 1));
    show("one more", snprintf(0, 0, "%2147483647d ", 1));
    show("two", snprintf(0, 0, " %2147483647d", 1));
    show("precision", snprintf(0, 0, "%.2147483646f", 1.5));
    show("precision", snprintf(0, 0, "%.2147483645f", 1.5));
    show("precision", snprintf(0, 0, "%.2147483645g", 1.5));
    show("precision", snprintf(0, 0, "%.2147483640e", 1.5));
    show("precision", snprintf(0, 0, "%.2147483641e", 1.5));
    show("precision", snprintf(0, 0, "%.2147483646a", 1.5));
    show("precision", snprintf(0, 0, "%.2147483647d", 1));
    show("precision", snprintf(0, 0, "%+.2147483647d", 1));
    show("empty", snprintf(0, 0, "%s", ""));
    char tiny[1] = {'x'};
    show("tiny", snprintf(tiny, 1, "%s", "abc"));
    show("tiny", tiny[0]);
}

static void wide_characters(void) {
    for (int utf8 = 0; utf8 < 2; utf8++) {
        show(setlocale(LC_ALL, utf8 ? "C.UTF-8" : "C"), 0);
        TRY("%ls|%5ls|%-5ls|%05ls", L"abc", L"de", L"f", L"g");
        TRY("%lc %C", 0x41, 0x20ac);
        TRY("%.2ls", L"\u20ac");
        TRY("%.3ls", L"\u20ac\u20ac");
        TRY("%.4S|", L"a\u20ac");
        TRY("before %ls", L"\xd800");
        TRY("before %lc", 0x7fffffff);
        TRY("%lc|%5lc", 0, 0);
    }
}

static void buffers(int mode, size_t size) {
    char line[300];
    memset(line, 'l', sizeof line);
    line[299] = 0;
    setvbuf(stdout, 0, mode, size);
    for (int i = 0; i < 5; i++) {
        show("line", printf("%d %s %f\n%s\n%s", i, line, i / 3.0, line + 150, line + 290));
        show("blank", printf(i & 1 ? "" : "%s", ""));
    }
    show("wide", printf("%700d|%-700d|\n", 5, 5));
    fflush(stdout);
}

static void others(void) {
    char *text;
    size_t size;
    show("asprintf", asprintf(&text, "%d and %s", 42, "more"));
    puts(text);
    FILE *stream = open_memstream(&text, &size);
    show("memstream", fprintf(stream, "%0200d and %.100f", 7, 0.1));
    fclose(stream);
    puts(text);
    char fixed[16];
    stream = fmemopen(fixed, sizeof fixed, "w");
    show("fmemopen", fprintf(stream, "%s %d", "a text that is long", 5));
    show("flush", fflush(stream));
    show("dprintf", dprintf(1, "%s %5.2f\n", "direct", 2.345));
    show("sprintf", sprintf(fixed, "%.3e", 12345.678));
    puts(fixed);
}

static void failures(void) {
    show("to the input", fprintf(stdin, "text"));
    show("to the input", fprintf(stdin, ""));
    show("error", ferror(stdin));
    setvbuf(stdout, 0, _IONBF, 0);
    close(1);
    show("closed", printf("%d\n", 5));
    show("error", ferror(stdout) != 0);
    show("closed", printf("%d%s%d\n", 5, "text", 6));
    clearerr(stdout);
    show("closed", printf(""));
    show("invalid", printf("%y"));
}

int main(int count, char **words) {
    int part = atoi(words[1]);
    if (part == 0) numbered(), invalid(), long_ones(), wide_characters();
    if (part == 1) buffers(_IOFBF, 1024), others();
    if (part == 2) buffers(_IOLBF, 100);
    if (part == 3) buffers(_IONBF, 0);
    if (part == 4) buffers(_IOFBF, 7);
    if (part == 5) failures();
    (void)count;
}
