#include <stdio.h>
#include <string.h>

int main(void) {
    char line[64];
    int number;
    double real;
    printf("name? ");
    fflush(stdout);
    if (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        printf("[%s]\n", line);
    }
    while (scanf("%d %lf", &number, &real) == 2) {
        printf("%d * %g = %g\n", number, real, number * real);
    }
    int rest = 0, byte;
    while ((byte = getchar()) != EOF) {
        rest = rest * 31 + byte;
    }
    printf("rest %d, end %d\n", rest, feof(stdin) != 0);
    return 7;
}
