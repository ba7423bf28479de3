/* The sun and the four large planets, moved by their gravity: double-precision arithmetic.
 *
 *   curta run examples/nbody.c         (100 steps of 0.01 years)
 *   curta run examples/nbody.c 1000
 *
 * Prints the energy before and after; a good integrator keeps it. Lengths are astronomical units,
 * masses are suns times 4 pi^2, which makes the constant of gravity 1.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BODIES = 5 };

#define PI 3.141592653589793
#define SUN (4 * PI * PI)
#define YEAR 365.24

typedef struct {
    double place[3], speed[3], mass;
} Body;

static Body bodies[BODIES] = {
    {{0, 0, 0}, {0, 0, 0}, SUN},
    {{4.84143144246472090e+00, -1.16032004402742839e+00, -1.03622044471123109e-01},
     {1.66007664274403694e-03 * YEAR, 7.69901118419740425e-03 * YEAR, -6.90460016972063023e-05 * YEAR},
     9.54791938424326609e-04 * SUN},
    {{8.34336671824457987e+00, 4.12479856412430479e+00, -4.03523417114321381e-01},
     {-2.76742510726411926e-03 * YEAR, 4.99852801234917238e-03 * YEAR, 2.30417297573763929e-05 * YEAR},
     2.85885980666130812e-04 * SUN},
    {{1.28943695621391310e+01, -1.51111514016986312e+01, -2.23307578892655734e-01},
     {2.96460137564761618e-03 * YEAR, 2.37847173959480950e-03 * YEAR, -2.96589568540237556e-05 * YEAR},
     4.36624404335156298e-05 * SUN},
    {{1.53796971148509165e+01, -2.59193146099879641e+01, 1.79258772950371181e-01},
     {2.68067772490389322e-03 * YEAR, 1.62824170038242295e-03 * YEAR, -9.51592254519715870e-05 * YEAR},
     5.15138902046611451e-05 * SUN},
};

/* Lets the centre of mass rest. */
static void rest(void) {
    for (int axis = 0; axis < 3; axis++) {
        double momentum = 0;
        for (int i = 0; i < BODIES; i++) {
            momentum += bodies[i].speed[axis] * bodies[i].mass;
        }
        bodies[0].speed[axis] = -momentum / SUN;
    }
}

static double energy(void) {
    double sum = 0;
    for (int i = 0; i < BODIES; i++) {
        const Body *a = &bodies[i];
        double square = 0;
        for (int axis = 0; axis < 3; axis++) {
            square += a->speed[axis] * a->speed[axis];
        }
        sum += 0.5 * a->mass * square;
        for (int j = i + 1; j < BODIES; j++) {
            const Body *b = &bodies[j];
            double distance = 0;
            for (int axis = 0; axis < 3; axis++) {
                double away = a->place[axis] - b->place[axis];
                distance += away * away;
            }
            sum -= a->mass * b->mass / sqrt(distance);
        }
    }
    return sum;
}

static void advance(double time) {
    for (int i = 0; i < BODIES; i++) {
        Body *a = &bodies[i];
        for (int j = i + 1; j < BODIES; j++) {
            Body *b = &bodies[j];
            double away[3], square = 0;
            for (int axis = 0; axis < 3; axis++) {
                away[axis] = a->place[axis] - b->place[axis];
                square += away[axis] * away[axis];
            }
            double pull = time / (square * sqrt(square));
            for (int axis = 0; axis < 3; axis++) {
                a->speed[axis] -= away[axis] * b->mass * pull;
                b->speed[axis] += away[axis] * a->mass * pull;
            }
        }
    }
    for (int i = 0; i < BODIES; i++) {
        for (int axis = 0; axis < 3; axis++) {
            bodies[i].place[axis] += time * bodies[i].speed[axis];
        }
    }
}

int main(int count, char **words) {
    int steps = count > 1 ? atoi(words[1]) : 100;
    rest();
    printf("%.9f\n", energy());
    for (int i = 0; i < steps; i++) {
        advance(0.01);
    }
    printf("%.9f\n", energy());
    return 0;
}
