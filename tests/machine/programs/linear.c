/* Linear algebra in doubles: LU with pivots, determinant, inverse, QR, power iteration, exponential. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#define N 4
typedef double matrix[N][N];

static void multiply(matrix r, const matrix a, const matrix b) {
    matrix t;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            t[i][j] = 0;
            for (int k = 0; k < N; k++) t[i][j] += a[i][k] * b[k][j];
        }
    memcpy(r, t, sizeof t);
}

static void print(const char *name, const matrix a) {
    printf("%s\n", name);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) printf("%12.6f%s", a[i][j] + 0.0, j == N - 1 ? "\n" : "");
}

static double decompose(matrix a, int order[N]) { /* in place; the determinant */
    double determinant = 1;
    for (int i = 0; i < N; i++) order[i] = i;
    for (int k = 0; k < N; k++) {
        int best = k;
        for (int i = k + 1; i < N; i++)
            if (fabs(a[i][k]) > fabs(a[best][k])) best = i;
        if (best != k) {
            double row[N];
            memcpy(row, a[k], sizeof row);
            memcpy(a[k], a[best], sizeof row);
            memcpy(a[best], row, sizeof row);
            int t = order[k];
            order[k] = order[best], order[best] = t;
            determinant = -determinant;
        }
        determinant *= a[k][k];
        if (a[k][k] == 0) return 0;
        for (int i = k + 1; i < N; i++) {
            a[i][k] /= a[k][k];
            for (int j = k + 1; j < N; j++) a[i][j] -= a[i][k] * a[k][j];
        }
    }
    return determinant;
}

static void solve(const matrix lu, const int order[N], const double b[N], double x[N]) {
    for (int i = 0; i < N; i++) {
        x[i] = b[order[i]];
        for (int k = 0; k < i; k++) x[i] -= lu[i][k] * x[k];
    }
    for (int i = N - 1; i >= 0; i--) {
        for (int k = i + 1; k < N; k++) x[i] -= lu[i][k] * x[k];
        x[i] /= lu[i][i];
    }
}

static void gram_schmidt(const matrix a, matrix q, double lengths[N]) {
    for (int j = 0; j < N; j++) {
        for (int i = 0; i < N; i++) q[i][j] = a[i][j];
        for (int k = 0; k < j; k++) {
            double dot = 0;
            for (int i = 0; i < N; i++) dot += q[i][k] * q[i][j];
            for (int i = 0; i < N; i++) q[i][j] -= dot * q[i][k];
        }
        double sum = 0;
        for (int i = 0; i < N; i++) sum += q[i][j] * q[i][j];
        lengths[j] = sqrt(sum);
        for (int i = 0; i < N; i++) q[i][j] /= lengths[j];
    }
}

static void exponential(const matrix a, matrix r) { /* by its series, after halving */
    matrix small, term = {{0}};
    memset(r, 0, sizeof(matrix));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) small[i][j] = ldexp(a[i][j], -4);
    for (int i = 0; i < N; i++) r[i][i] = term[i][i] = 1;
    for (int k = 1; k < 8; k++) {
        multiply(term, term, small);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) r[i][j] += term[i][j] /= k;
    }
    for (int i = 0; i < 4; i++) multiply(r, r, r);
}

int main(void) {
    const matrix a = {{2, -1, 0, 3}, {4, 1.5, -2, 0}, {0.25, 0, 1, -1}, {-6, 2, 1, 8}};
    const double b[N] = {1, 2, 3, 4};
    matrix lu, inverse, q;
    int order[N];
    double x[N], lengths[N];
    memcpy(lu, a, sizeof lu);
    printf("determinant %.10g\n", decompose(lu, order));
    solve(lu, order, b, x);
    printf("x %.10g %.10g %.10g %.10g\n", x[0], x[1], x[2], x[3]);
    for (int j = 0; j < N; j++) {
        double unit[N] = {0}, column[N];
        unit[j] = 1;
        solve(lu, order, unit, column);
        for (int i = 0; i < N; i++) inverse[i][j] = column[i];
    }
    print("inverse", inverse);
    gram_schmidt(a, q, lengths);
    printf("lengths %.9f %.9f %.9f %.9f\n", lengths[0], lengths[1], lengths[2], lengths[3]);
    double v[N] = {1, 1, 1, 1}, size = 0;
    for (int turn = 0; turn < 12; turn++) {
        double w[N] = {0};
        size = 0;
        for (int i = 0; i < N; i++) {
            for (int k = 0; k < N; k++) w[i] += a[i][k] * v[k];
            size = fmax(size, fabs(w[i]));
        }
        for (int i = 0; i < N; i++) v[i] = w[i] / size;
    }
    printf("dominant %.9f\n", size);
    const matrix turning = {{0, -1, 0, 0}, {1, 0, 0, 0}, {0, 0, -0.5, 0}, {0, 0, 0.25, 0}};
    exponential(turning, inverse);
    print("exponential", inverse);
    return 0;
}
