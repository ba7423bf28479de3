#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(int count, char **arguments) {
    for (int i = 0; i < count; i++) {
        printf("argument %d: [%s]\n", i, arguments[i]);
    }
    printf("HOME=%s EMPTY=[%s] NONE=%d\n", getenv("HOME"), getenv("EMPTY"), getenv("NONE") == NULL);
    struct timespec before, after, pause = {0, 5000000};
    clock_gettime(CLOCK_MONOTONIC, &before);
    nanosleep(&pause, NULL);
    clock_gettime(CLOCK_MONOTONIC, &after);
    long long passed = (after.tv_sec - before.tv_sec) * 1000000000LL + after.tv_nsec - before.tv_nsec;
    printf("slept: %d, after 1999: %d\n", passed >= 5000000, time(NULL) > 915148800);
    unsigned char bytes[37] = {0};
    getentropy(bytes, sizeof bytes);
    int different = 0;
    for (int i = 1; i < 37; i++) {
        different += bytes[i] != bytes[0];
    }
    printf("random: %d\n", different > 20);
    printf("open: %d\n", open("/no/such/file", O_RDONLY) < 0);
    printf("file: %d\n", fopen("absent.txt", "r") == NULL);
    errno = 0;
    printf("bad file: %d %s\n", (int)write(9, "x", 1), strerror(errno));
    fflush(stdout);
    fclose(stdin);
    char *block = malloc(3000000);
    memset(block, 7, 3000000);
    printf("heap: %d\n", block[2999999]);
    exit(count == 3 ? 42 : 1);
}
