/* Lists of numbers: mean, median, standard deviation, least and largest, correlation. */

static void sort(double *values, int n) {
    for (int gap = n / 2; gap; gap /= 2) {
        for (int i = gap; i < n; i++) {
            double value = values[i];
            int at = i;
            for (; at >= gap && values[at - gap] > value; at -= gap) values[at] = values[at - gap];
            values[at] = value;
        }
    }
}

static double mean_of(const double *values, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += values[i];
    return sum / n;
}

/* The mean, median, standard deviation (of a sample), least and largest of a list of numbers. */
void describe(const double *values, int n, double *out_mean, double *out_median,
              double *out_deviation, double *out_least, double *out_largest) {
    static double sorted[65536];
    if (n < 1 || n > 65536) __builtin_trap();
    for (int i = 0; i < n; i++) sorted[i] = values[i];
    sort(sorted, n);
    double mean = mean_of(values, n), squares = 0;
    for (int i = 0; i < n; i++) squares += (values[i] - mean) * (values[i] - mean);
    *out_mean = mean;
    *out_median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    *out_deviation = n > 1 ? __builtin_sqrt(squares / (n - 1)) : 0;
    *out_least = sorted[0];
    *out_largest = sorted[n - 1];
}

/* How far two lists of equal length are correlated (Pearson), from -1 to 1. */
double correlation(const double *x, const double *y, int n) {
    double mean_x = mean_of(x, n), mean_y = mean_of(y, n), xx = 0, yy = 0, xy = 0;
    for (int i = 0; i < n; i++) {
        double dx = x[i] - mean_x, dy = y[i] - mean_y;
        xx += dx * dx;
        yy += dy * dy;
        xy += dx * dy;
    }
    return xy / __builtin_sqrt(xx * yy);
}
