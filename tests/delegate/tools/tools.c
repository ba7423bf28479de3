/* Functions of every shape that a tool can have, and of some that it cannot. */
#include <stdlib.h>
#include <string.h>

#define CELLS 4

typedef unsigned long long big;
typedef const char *text;
enum colour { RED, GREEN = 5 };
struct point { int x, y; };

static int calls;

/* Days between two dates,
 * roughly.
 * @param first  the earlier one
 * @param second the later one */
int days_between(int first, int second) { return (int)((unsigned)second - (unsigned)first); }

// The greatest common divisor.
big gcd(big a, big b) {
    while (b) { big rest = a % b; a = b; b = rest; }
    return a;
}

double mean(const double *values, int n_values) {
    double sum = 0;
    for (int i = 0; i < n_values; i++) sum += values[i];
    return sum / n_values;
}

long long dot(const short *x, const int *restrict y, size_t n) {
    long long sum = 0;
    for (size_t i = 0; i < n; i++) sum += (long long)x[i] * y[i];
    return sum;
}

const char *reverse(text words) {
    size_t length = strlen(words);
    char *reversed = malloc(length + 1);
    for (size_t i = 0; i < length; i++) reversed[i] = words[length - 1 - i];
    reversed[length] = 0;
    return reversed;
}

char *nothing(int is_there) { return is_there ? "yes" : NULL; }

unsigned bytes(text words) {
    unsigned sum = 0;
    for (const unsigned char *at = (const unsigned char *)words; *at; at++) sum = sum * 31 + *at;
    return sum;
}

void greet(const char *name, char *out, int out_size) {
    strncpy(out, "hello ", out_size);
    strncat(out, name, out_size - 7);
}

void sort(int *values, int n) {
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && values[j - 1] > values[j]; j--) {
            int larger = values[j - 1];
            values[j - 1] = values[j];
            values[j] = larger;
        }
}

int primes_below(int limit, int *out, int room) {
    int count = 0;
    for (int n = 2; n < limit; n++) {
        int is_prime = 1;
        for (int d = 2; d * d <= n; d++) is_prime &= n % d != 0;
        if (is_prime && count < room) out[count++] = n;
    }
    return count;
}

void running(const float *values, double *out_sums, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) out_sums[i] = sum += values[i];
}

void split(long long seconds, int *out_hours, signed char *out_minutes) {
    *out_hours = seconds / 3600;
    *out_minutes = seconds / 60 % 60;
}

_Bool solved(const int board[CELLS], int out_board[CELLS], enum colour colour) {
    for (int i = 0; i < CELLS; i++) out_board[i] = board[CELLS - 1 - i] + colour;
    return board[0] == 0;
}

float half(float number) { return number / 2; }
int divide(int a, int b) { return a / b; }
int count(void) { return ++calls; }
int digits(const unsigned char *digits, int n) { return n ? digits[n - 1] : -1; }
void spin(void) { for (volatile int i = 0;; i++) ; }
void leave(int code) { exit(code); }
int outside(int page) { return *(volatile int *)(page * 65536); }
int take(int at, int room) { return at * room; } /* names that the wrapper could have */
int NATIVE(int *out_result, int *out, int *out_x) { *out_result = *out = *out_x = 3; return 4; }
int missing_length(const int *p) { return *p; }
int sized(char *buffer, int n) { return buffer[0] + n; }
int any(int n, ...) { return n; }
struct point where(void) { struct point p = {1, 2}; return p; }
int declared(int);
static int hidden(int x) { return x; }
int _private(int x) { return hidden(x); }
