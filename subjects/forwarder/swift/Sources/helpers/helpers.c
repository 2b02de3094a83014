/* The functions of helpers/ as a part of the program, optimised in every build. */
#include "../../../helpers/helpers.c"
