"""Pages of people: signing in, a team's members and what they did, one's own profile. Thin; the acts are below."""
