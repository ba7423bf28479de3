/* Differential equations: Runge and Kutta with fixed and adaptive steps, leapfrog, Euler. */
#include <math.h>
#include <stdio.h>

typedef void (*slope)(double t, const double *y, double *out);

static void rk4(slope f, double t, double h, double *y, int n) {
    double k[4][4], middle[4];
    f(t, y, k[0]);
    for (int i = 0; i < n; i++) middle[i] = y[i] + h / 2 * k[0][i];
    f(t + h / 2, middle, k[1]);
    for (int i = 0; i < n; i++) middle[i] = y[i] + h / 2 * k[1][i];
    f(t + h / 2, middle, k[2]);
    for (int i = 0; i < n; i++) middle[i] = y[i] + h * k[2][i];
    f(t + h, middle, k[3]);
    for (int i = 0; i < n; i++) y[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
}

static int adaptive(slope f, double t, double end, double *y, double tolerance) { /* Bogacki, Shampine */
    double h = 0.1, k1, k2, k3, k4, next, middle;
    int steps = 0;
    while (t < end && steps < 200) {
        if (t + h > end) h = end - t;
        f(t, y, &k1);
        middle = *y + h / 2 * k1;
        f(t + h / 2, &middle, &k2);
        middle = *y + 3 * h / 4 * k2;
        f(t + 3 * h / 4, &middle, &k3);
        next = *y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9;
        f(t + h, &next, &k4);
        double error = fabs(h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8));
        if (error <= tolerance) t += h, *y = next;
        double factor = error > 0 ? 0.9 * cbrt(tolerance / error) : 4;
        h *= fmin(4, fmax(0.25, factor));
        steps++;
    }
    return steps;
}

static void oscillator(double t, const double *y, double *out) {
    (void)t;
    out[0] = y[1];
    out[1] = -y[0];
}

static void lotka_volterra(double t, const double *y, double *out) {
    (void)t;
    out[0] = 1.5 * y[0] - y[0] * y[1];
    out[1] = -3 * y[1] + y[0] * y[1];
}

static void lorenz(double t, const double *y, double *out) {
    (void)t;
    out[0] = 10 * (y[1] - y[0]);
    out[1] = y[0] * (28 - y[2]) - y[1];
    out[2] = y[0] * y[1] - 8.0 / 3 * y[2];
}

static void logistic(double t, const double *y, double *out) {
    (void)t;
    *out = *y * (1 - *y);
}

static double leapfrog(double dt, int steps) { /* the energy's drift on an ellipse */
    double x = 1, y = 0, vx = 0, vy = 1.2, first = 0, energy = 0;
    for (int n = 0; n <= steps; n++) {
        double r2 = x * x + y * y, pull = -dt / 2 / (r2 * sqrt(r2));
        energy = (vx * vx + vy * vy) / 2 - 1 / sqrt(r2);
        if (n == 0) first = energy;
        vx += pull * x, vy += pull * y;
        x += dt * vx, y += dt * vy;
        r2 = x * x + y * y;
        pull = -dt / 2 / (r2 * sqrt(r2));
        vx += pull * x, vy += pull * y;
    }
    return energy - first;
}

int main(void) {
    double y[3] = {1, 0, 0};
    for (int i = 0; i < 16; i++) rk4(oscillator, i / 8.0, 0.125, y, 2);
    printf("oscillator %.9f %.9f (%.2e)\n", y[0], y[1], y[0] - cos(2));
    y[0] = 10, y[1] = 5;
    for (int i = 0; i < 15; i++) rk4(lotka_volterra, 0, 0.05, y, 2);
    printf("hunters %.9f prey %.9f\n", y[1], y[0]);
    y[0] = y[1] = y[2] = 1;
    for (int i = 0; i < 15; i++) {
        rk4(lorenz, 0, 0.02, y, 3);
        if (i % 5 == 4) printf("lorenz %10.6f %10.6f %10.6f\n", y[0], y[1], y[2]);
    }
    double p = 0.1;
    int steps = adaptive(logistic, 0, 4, &p, 1e-5);
    printf("logistic %.6f in %d steps, %.6f\n", p, steps, 1 / (1 + 9 * exp(-4)));
    printf("drift %.6e\n", leapfrog(0.05, 25));
    double e = 1;
    for (int i = 0; i < 100; i++) e += e * 0.01;
    printf("euler %.12f\n", e);
    return 0;
}
