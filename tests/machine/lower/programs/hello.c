#include <stdio.h>

int main(void) {
    printf("Hello, %s! %d\n", "world", 42);
    return 0;
}
