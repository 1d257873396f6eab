"""The benchmark of the main job: Kwicket beside bare loops of patches, in one run on one plane."""
