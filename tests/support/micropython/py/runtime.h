#include "py/obj.h"
