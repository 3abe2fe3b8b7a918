/** What is known when scopes are chosen; all as space-separated lists. */
export interface ScopeFacts {
  /** Of the challenge that led here. */
  readonly challenged: string | undefined
  /** Of the user's options. */
  readonly wanted: string | undefined
  /** `scopes_supported` of the resource. */
  readonly resource: readonly string[] | undefined
  /** Asked for before, where more is needed now. */
  readonly before: string | undefined
  /** Whether a refresh token may be asked for, by a scope that the authorization server offers for it. */
  readonly offline: boolean
}

/**
 * The scopes to ask for (specification: authorization, scope selection): what the challenge says, or else
 * what the user wants, or else all that the resource has; with those asked for before. Undefined: none is
 * named at all.
 */
export function chooseScope({
  challenged,
  wanted,
  resource,
  before,
  offline,
}: ScopeFacts): string | undefined {
  const chosen = words(challenged ?? wanted ?? resource?.join(' '))
  const all = new Set([...words(before), ...chosen])
  if (all.size === 0) return undefined
  if (offline) all.add('offline_access')
  return [...all].join(' ')
}

/** Whether all the scopes of `needed` are among those of `had`. */
export function hasScopes(had: string | undefined, needed: string | undefined): boolean {
  const known = new Set(words(had))
  return words(needed).every((word) => known.has(word))
}

function words(scope: string | undefined): readonly string[] {
  return scope?.split(' ').filter((word) => word !== '') ?? []
}
