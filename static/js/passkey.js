// A form with a button [data-passkey="new" | "use"] asks the browser for a passkey by the options of [data-options], and
// goes with its answer in `credential`. WebAuthn speaks bytes and JSON does not: they travel in base64url.
const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const known = (list) => (list ?? []).map((one) => ({ ...one, id: bytes(one.id) }));

async function create(options) {
  const user = { ...options.user, id: bytes(options.user.id) };
  const publicKey = { ...options, user, challenge: bytes(options.challenge), excludeCredentials: known(options.excludeCredentials) };
  const made = await navigator.credentials.create({ publicKey });
  const { clientDataJSON, attestationObject } = made.response;
  return wrapped(made, { clientDataJSON: text(clientDataJSON), attestationObject: text(attestationObject) });
}

async function get(options) {
  const publicKey = { ...options, challenge: bytes(options.challenge), allowCredentials: known(options.allowCredentials) };
  const found = await navigator.credentials.get({ publicKey });
  const { clientDataJSON, authenticatorData, signature, userHandle } = found.response;
  return wrapped(found, {
    clientDataJSON: text(clientDataJSON),
    authenticatorData: text(authenticatorData),
    signature: text(signature),
    userHandle: userHandle && text(userHandle),
  });
}

function wrapped(credential, response) {
  return {
    id: credential.id,
    rawId: text(credential.rawId),
    type: credential.type,
    response,
    clientExtensionResults: credential.getClientExtensionResults(),
  };
}

async function ask(button, form) {
  if (!globalThis.PublicKeyCredential) throw new Error("This browser has no passkeys, or the page did not come over HTTPS.");
  const csrf = new FormData();
  csrf.set("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
  const answer = await fetch(button.dataset.options, { method: "POST", body: csrf });
  if (!answer.ok || !answer.headers.get("Content-Type").includes("json")) throw new Error("The console gave no answer: reload the page.");
  const { publicKey } = await answer.json();
  return button.dataset.passkey === "new" ? create(publicKey) : get(publicKey);
}

const WORDS = {
  NotAllowedError: "Nothing was signed: it was cancelled, took too long, or this device has no such passkey.",
  InvalidStateError: "This device keeps a passkey of yours already.",
  SecurityError: "The browser keeps no passkeys for this address.",
};

// In the capture phase, so that neither htmx nor once.js sees the form go before it holds an answer.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  const button = form.querySelector("[data-passkey]");
  if (!button || form.elements.credential.value) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (button.getAttribute("aria-disabled") === "true") return;
  const problem = form.querySelector("[data-passkey-problem]");
  problem.hidden = true;
  button.disabled = true;
  try {
    form.elements.credential.value = JSON.stringify(await ask(button, form));
    form.requestSubmit();
  } catch (error) {
    problem.textContent = WORDS[error.name] ?? error.message;
    problem.hidden = false;
  } finally {
    button.disabled = false;
  }
}, true);
