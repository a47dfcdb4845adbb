// Every page's behaviour. Each module does one job and reads what it needs from data attributes.
import "./copy.js";
import "./dialog.js";
import "./keys.js";
import "./live.js";
import "./menu.js";
import "./once.js";
import "./passkey.js";
import "./select.js";
import "./toast.js";
import "./when.js";
