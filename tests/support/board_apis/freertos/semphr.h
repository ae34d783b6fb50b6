#include "../semphr.h"
