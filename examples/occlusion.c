/* Ambient occlusion: how much of the sky the points of a scene see. Three balls on a floor, rays
 * from the eye, and from each point that they meet rays in all directions; roots and quotients.
 *
 *   curta run examples/occlusion.c      (12 lines)
 *   curta run examples/occlusion.c 40
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BALLS = 3, AROUND = 4 };

#define FLOOR (-0.5)
#define FAR 1e17
#define NEAR 1e-4

typedef struct {
    double x, y, z;
} point;

static const point centres[BALLS] = {{-2, 0, -3.5}, {-0.5, 0, -3}, {1, 0, -2.2}};
static const double radius = 0.5;

static point along(point from, point way, double far) {
    return (point){from.x + far * way.x, from.y + far * way.y, from.z + far * way.z};
}

static double dot(point a, point b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static point of_length_one(point a) {
    double length = sqrt(dot(a, a));
    return (point){a.x / length, a.y / length, a.z / length};
}

/* How far a ray goes until it meets something; what it meets there is turned to `normal`. */
static double meet(point from, point way, point *normal) {
    double nearest = FAR;
    for (int ball = 0; ball < BALLS; ball++) {
        point away = along(from, centres[ball], -1);
        double half = dot(away, way), root = half * half - dot(away, away) + radius * radius;
        if (root > 0) {
            double far = -half - sqrt(root);
            if (far > NEAR && far < nearest) {
                nearest = far;
                *normal = of_length_one(along(along(from, way, far), centres[ball], -1));
            }
        }
    }
    if (way.y < 0) {
        double far = (FLOOR - from.y) / way.y;
        if (far > NEAR && far < nearest) {
            nearest = far;
            *normal = (point){0, 1, 0};
        }
    }
    return nearest;
}

/* The part of the directions around a normal in which there is nothing. */
static double seen_of_sky(point here, point normal) {
    int seen = 0, all = 0;
    point ignored;
    for (int i = -AROUND; i <= AROUND; i++) {
        for (int j = -AROUND; j <= AROUND; j++) {
            for (int k = -AROUND; k <= AROUND; k += 2 * AROUND) {
                point way = of_length_one((point){i, k, j});
                if (dot(way, normal) > 0) {
                    all++;
                    seen += meet(here, way, &ignored) == FAR;
                }
            }
        }
    }
    return (double)seen / all;
}

int main(int count, char **words) {
    int lines = count > 1 ? atoi(words[1]) : 12;
    double light = 0;
    for (int line = 0; line < lines; line++) {
        for (int column = 0; column < 2 * lines; column++) {
            double x = (column - lines + 0.5) / lines, y = (lines - 1 - 2 * line) * 0.5 / lines;
            point way = of_length_one((point){x, y, -1}), normal = {0, 0, 0};
            double far = meet((point){0, 0, 0}, way, &normal);
            double bright = far == FAR ? 1 : seen_of_sky(along((point){0, 0, 0}, way, far), normal);
            putchar("@%#*+=-:. "[(int)(bright * 9)]);
            light += bright;
        }
        putchar('\n');
    }
    printf("%.12f\n", light);
}
