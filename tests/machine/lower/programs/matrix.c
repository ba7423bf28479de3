/* Products of matrices of integers. */
#include <stdio.h>

#define N 20
static int a[N][N], b[N][N], c[N][N];

int main(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) a[i][j] = i * 3 - j, b[i][j] = i ^ j;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                int sum = 0;
                for (int k = 0; k < N; k++) sum += a[i][k] * b[k][j];
                c[i][j] = sum % 1000;
            }
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) a[i][j] = c[i][j];
    }
    printf("%d %d %d\n", c[0][0], c[7][9], c[N - 1][N - 1]);
    return 0;
}
