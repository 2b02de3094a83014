/* The helpers as a library. */
#define HELPER
#include "helpers.h"
