"""What SQL computes with: types, arrays, zones, the session, and bound steps."""
