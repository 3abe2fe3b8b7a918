// What is known not to pass, and why. A scenario of this list that passes is a failure: then it has to leave the list.

export const expected = new Map([
  [
    'server 0.2 extensions tasks-status-notifications',
    'the suite skips it: it looks at the stream of the call, where there are no such notifications',
  ],
  [
    'client 0.1 auth/2025-03-26-oauth-metadata-backcompat',
    'this mock names a wrong issuer (RFC 8414, section 3.3)',
  ],
])
