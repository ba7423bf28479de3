/* scanf on the standard streams: what comes back, and in what state they are left. */
#include <errno.h>
#include <stdio.h>
#include <wchar.h>

static void show(const char *name, int result, FILE *stream) {
    printf("%s: %d, %d, %d %d\n", name, result, errno, feof(stream) != 0, ferror(stream) != 0);
    errno = 0;
}

int main(void) {
    int number = 0;
    double real = 0;
    show("nothing", scanf(""), stdin);
    show("spaces", scanf(" "), stdin);
    show("number", scanf("%d", &number), stdin);
    show("real", scanf("%lf", &real), stdin);
    show("next", getchar(), stdin);
    show("more", scanf("%d%d", &number, &number), stdin);
    show("output", fscanf(stdout, "%d", &number), stdout);
    show("output", fscanf(stderr, ""), stderr);
    printf("%d %g\n", number, real);
}
