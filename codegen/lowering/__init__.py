"""Graph -> kernel calls, and the rewrites of calls that suit a target."""
