/* Times in milliseconds, which wrap: two of them are compared by what lies between. */
#ifndef PRONY_ENET_TIME_H
#define PRONY_ENET_TIME_H

#include <stdint.h>

#define ENET_TIME_OVERFLOW 86400000
#define ENET_TIME_LESS(a, b) ((uint32_t)((a) - (b)) >= ENET_TIME_OVERFLOW)
#define ENET_TIME_GREATER(a, b) ENET_TIME_LESS(b, a)
#define ENET_TIME_LESS_EQUAL(a, b) (!ENET_TIME_GREATER(a, b))
#define ENET_TIME_GREATER_EQUAL(a, b) (!ENET_TIME_LESS(a, b))
#define ENET_TIME_DIFFERENCE(a, b) (ENET_TIME_LESS(a, b) ? (b) - (a) : (a) - (b))

#endif
