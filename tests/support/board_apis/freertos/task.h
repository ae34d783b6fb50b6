#include "../task.h"
