/* SPDX-License-Identifier: MIT */
#include "config/lcapi.h"

const struct lcapi lcapi_direct = {
#define X(ret, name, params) .name = name,
	LCAPI_TABLE(X)
#undef X
};
