import { isOnDevice } from './redirects.js'

/** What a page about the consent says. */
interface ConsentText {
  readonly server: string
  /** What the client calls itself, which anybody may. */
  readonly client: string
  /** The host of its metadata document, which it cannot make up. */
  readonly from: string | undefined
  /** Where its code goes: that it cannot make up. */
  readonly redirectUri: string
  readonly user: string
  readonly provider: string
  readonly scopes: readonly string[]
  /** What stands for these scopes in the form: its answer is of this page, and of no other of the step. */
  readonly asked: string
}

/** Whether a client may act for the user: plain HTML, without a script. */
export function consentPage(text: ConsentText): string {
  const { server, client, from, redirectUri, user, provider, scopes, asked } = text
  const known = from === undefined ? '' : ` (of <b>${escaped(from)}</b>)`
  const list =
    scopes.length === 0
      ? '<p>It asks for no more than to use this server as you.</p>'
      : `<p>It asks for:</p><ul>${scopes.map((scope) => `<li>${escaped(scope)}</li>`).join('')}</ul>`
  return page(
    `${server}: allow access`,
    `<h1>Allow access to ${escaped(server)}?</h1>
<p><b>${escaped(withoutHost(cut(client)))}</b>${known} wants to use <b>${escaped(server)}</b> as you: <b>${escaped(user)}</b>, signed in at ${escaped(provider)}.</p>
${list}
<p>Access goes to <b>${escaped(placeOf(redirectUri))}</b>. Allow it only if you have just begun this there, in a program that you know: the name above is what it says of itself.</p>
<form method="post"><input type="hidden" name="asked" value="${escaped(asked)}"><button name="decision" value="allow">Allow</button> <button name="decision" value="deny">Refuse</button></form>`,
  )
}

/** A name that goes on as the page does, `Friend (of example.com)`, would be taken for what is known. */
function withoutHost(name: string): string {
  return name.replaceAll(/[\p{Ps}\p{Pe}]/gu, ' ')
}

/** What a page about a server behind this one says. */
interface UpstreamText {
  readonly name: string
  readonly server: string
  readonly user: UpstreamUser
  /** Where the user signs in. */
  readonly at: string
  /** Whether the browser has shown that it is that of the user. */
  readonly isShown: boolean
}

/** Who a login is for: a name is what somebody says of themselves, and may be that of another one. */
export interface UpstreamUser {
  readonly subject: string
  readonly issuer: string
  /** Where that is verified. */
  readonly email?: string
  readonly name?: string
}

/** Who asks for a sign-in, at which server, and where it leads. */
export function upstreamPage({ name, server, user, at, isShown }: UpstreamText): string {
  const who = isShown
    ? `You are <b>${escaped(cut(user.name ?? user.email ?? user.subject))}</b> here.`
    : `It is for <b>${escaped(cut(user.email ?? user.subject))}</b>${aboutUser(user)}. If that is not you, close this page: whoever sent you here would use your account.`
  return page(
    `${name}: sign in to ${server}`,
    `<h1>Sign in to ${escaped(server)}?</h1>
<p><b>${escaped(name)}</b> wants to use <b>${escaped(server)}</b> with your account there, for calls that you make in your program. ${who}</p>
<p>You sign in at <b>${escaped(placeOf(at))}</b>. Go on only if you have just asked for this in a program that you know.</p>
<form method="post"><button name="decision" value="allow">Go on</button> <button name="decision" value="deny">Not now</button></form>`,
  )
}

/** What else tells one user from another. */
function aboutUser({ subject, issuer, email, name }: UpstreamUser): string {
  const facts = [
    ...(email === undefined ? [] : [cut(subject)]),
    `at ${cut(issuer)}`,
    ...(name === undefined ? [] : [`who gives the name “${cut(name)}”`]),
  ]
  return ` (${escaped(facts.join(', '))})`
}

/** A page that says one thing. */
export function messagePage(server: string, text: string): string {
  return page(server, `<h1>${escaped(server)}</h1><p>${escaped(text)}</p>`)
}

/**
 * The headers of a page. That of a form says nothing of where it may lead: browsers ask that of each redirect that
 * follows, and those of a host's own callback lead into its app.
 */
export function pageHeaders(kind?: 'form'): Record<string, string> {
  const policy = [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    ...(kind === 'form' ? [] : ["form-action 'none'"]),
  ]
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy.join('; '),
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    // not `no-referrer`: with that a browser would not say that a form is of this page
    'referrer-policy': 'same-origin',
    'cache-control': 'no-store',
  }
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 32em; margin: 4em auto; padding: 0 1em; color-scheme: light dark; overflow-wrap: anywhere }
button { font: inherit; padding: .5em 1.5em; cursor: pointer }
</style>
</head>
<body>
${body}
</body>
</html>
`
}

/** Where an address leads, as people read it. */
function placeOf(address: string): string {
  const url = new URL(address)
  if (isOnDevice(url)) return `a program on this device (${url.host})`
  // whatever is installed for that scheme opens it
  return url.protocol === 'https:' ? url.host : cut(address)
}

function cut(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}

/** Names are what strangers write: no markup, and no controls that turn or hide text. */
function escaped(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
    .replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
