/* Fourier transforms: radix two in complex doubles, a convolution, and one modulo a prime. */
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define N 16

typedef struct {
    double re, im;
} cpx;

static cpx mul(cpx a, cpx b) { return (cpx){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
static cpx add(cpx a, cpx b) { return (cpx){a.re + b.re, a.im + b.im}; }
static cpx sub(cpx a, cpx b) { return (cpx){a.re - b.re, a.im - b.im}; }

static unsigned reversed(unsigned x, unsigned bits) {
    unsigned r = 0;
    for (; bits > 0; bits--, x >>= 1) r = r << 1 | (x & 1);
    return r;
}

static void fft(cpx *a, unsigned n, int back) {
    unsigned bits = (unsigned)__builtin_ctz(n);
    for (unsigned i = 0; i < n; i++) {
        unsigned j = reversed(i, bits);
        if (i < j) {
            cpx t = a[i];
            a[i] = a[j], a[j] = t;
        }
    }
    double cosine = -1, sine = 0; /* of the angle of one step, halved by each pass */
    for (unsigned half = 1; half < n; half *= 2) {
        cpx step = {cosine, back ? sine : -sine}, w = {1, 0};
        for (unsigned k = 0; k < half; k++) {
            for (unsigned i = k; i < n; i += 2 * half) {
                cpx t = mul(a[i + half], w);
                a[i + half] = sub(a[i], t);
                a[i] = add(a[i], t);
            }
            w = mul(w, step);
        }
        double c = sqrt((1 + cosine) / 2);
        sine = sqrt((1 - cosine) / 2);
        cosine = c;
    }
    for (unsigned i = 0; back && i < n; i++) a[i].re /= n, a[i].im /= n;
}

#define PRIME 998244353u

static uint32_t pow_mod(uint32_t b, uint32_t e) {
    uint64_t r = 1;
    for (uint64_t x = b; e; e >>= 1, x = x * x % PRIME)
        if (e & 1) r = r * x % PRIME;
    return (uint32_t)r;
}

static void ntt(uint32_t *a, unsigned n, int back) {
    for (unsigned i = 0, bits = (unsigned)__builtin_ctz(n); i < n; i++) {
        unsigned j = reversed(i, bits);
        if (i < j) {
            uint32_t t = a[i];
            a[i] = a[j], a[j] = t;
        }
    }
    for (unsigned half = 1; half < n; half *= 2) {
        uint32_t root = pow_mod(3, (PRIME - 1) / (2 * half));
        if (back) root = pow_mod(root, PRIME - 2);
        for (unsigned i = 0; i < n; i += 2 * half) {
            uint64_t w = 1;
            for (unsigned k = 0; k < half; k++, w = w * root % PRIME) {
                uint32_t x = a[i + k], y = (uint32_t)(w * a[i + k + half] % PRIME);
                a[i + k] = x + y >= PRIME ? x + y - PRIME : x + y;
                a[i + k + half] = x >= y ? x - y : x + PRIME - y;
            }
        }
    }
    uint64_t inverse = pow_mod(n, PRIME - 2);
    for (unsigned i = 0; back && i < n; i++) a[i] = (uint32_t)(a[i] * inverse % PRIME);
}

int main(void) {
    cpx signal[N];
    double energy = 0, sum = 0;
    for (int i = 0; i < N; i++) {
        signal[i] = (cpx){i % 4 < 2 ? 1.0 : -1.0, (double)(i * i % 7) / 8};
        energy += signal[i].re * signal[i].re + signal[i].im * signal[i].im;
    }
    cpx first = signal[5];
    fft(signal, N, 0);
    for (int i = 0; i < N; i += 3) printf("%2d %9.6f %9.6f\n", i, signal[i].re, signal[i].im);
    for (int i = 0; i < N; i++) sum += signal[i].re * signal[i].re + signal[i].im * signal[i].im;
    printf("energy %.9f %.9f\n", energy, sum / N);
    fft(signal, N, 1);
    printf("back %d\n", fabs(signal[5].re - first.re) < 1e-14 && fabs(signal[5].im - first.im) < 1e-14);

    uint32_t a[16] = {9, 8, 7, 6, 5, 4, 3, 2}, b[16] = {1, 2, 3, 4, 5, 6, 7, 8};
    ntt(a, 16, 0);
    ntt(b, 16, 0);
    for (int i = 0; i < 16; i++) a[i] = (uint32_t)((uint64_t)a[i] * b[i] % PRIME);
    ntt(a, 16, 1);
    for (int i = 0; i < 16; i++) printf("%u%c", a[i], i == 15 ? '\n' : ' ');
    double complex z = 0.5 + 0.25 * I;
    for (int i = 0; i < 4; i++) z = z * z + (0.1 - 0.3 * I);
    printf("%.15g %.15g\n", creal(z), cimag(z));
    return 0;
}
