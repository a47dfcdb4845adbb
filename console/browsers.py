"""What a browser calls itself, in the words that its person uses. Pure.

A user agent is what the client says, and is told to nobody but the person: a guess that is wrong does no harm.
"""

# The first that occurs wins: most browsers name the ones that they descend from, too.
BROWSERS = {
    "Edg": "Edge",
    "OPR/": "Opera",
    "Firefox/": "Firefox",
    "FxiOS/": "Firefox",
    "CriOS/": "Chrome",
    "Chromium/": "Chromium",
    "Chrome/": "Chrome",
    "Safari/": "Safari",
    "curl/": "curl",
    "python-requests/": "Python",
}
SYSTEMS = {
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Android": "Android",
    "Windows": "Windows",
    "Mac OS X": "macOS",
    "CrOS": "ChromeOS",
    "Linux": "Linux",
}


def browser_words(user_agent: str) -> str:
    """`Firefox on Linux`; what could not be told is left out, and of nothing known `another browser`."""
    browser = next((name for mark, name in BROWSERS.items() if mark in user_agent), "")
    system = next((name for mark, name in SYSTEMS.items() if mark in user_agent), "")
    if not browser:
        return f"a browser on {system}" if system else "another browser"
    return f"{browser} on {system}" if system else browser
