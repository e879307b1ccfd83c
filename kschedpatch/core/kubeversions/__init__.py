"""What differs from one Kubernetes minor to the next, as tables by subject."""

from kschedpatch.core.kubeversions.clusters import (
    image_is_stock,
    lease_is_granted,
    needs_endpoints_right,
)
from kschedpatch.core.kubeversions.configapi import (
    CONFIG_GROUP,
    CONFIG_KIND,
    POLICY_KIND,
    best_config_version,
    config_versions,
    is_deprecated_config,
    minors_reading,
)
from kschedpatch.core.kubeversions.flags import (
    BOOLEAN_FLAGS,
    IGNORED_WITH_CONFIG,
    KNOWN_FLAGS,
    REMOVED_FLAGS,
)
from kschedpatch.core.kubeversions.plugins import stock_plugins

__all__ = [
    "BOOLEAN_FLAGS",
    "CONFIG_GROUP",
    "CONFIG_KIND",
    "IGNORED_WITH_CONFIG",
    "KNOWN_FLAGS",
    "POLICY_KIND",
    "REMOVED_FLAGS",
    "best_config_version",
    "config_versions",
    "image_is_stock",
    "is_deprecated_config",
    "lease_is_granted",
    "minors_reading",
    "needs_endpoints_right",
    "stock_plugins",
]
