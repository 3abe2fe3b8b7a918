// What is run: which build of the suite, at which revision. Without one, a suite takes for each scenario what that is meant for.
const timeline = ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'].map((revision) => ({
  name: `0.2@${revision}`,
  suite: 'conformance02',
  revision,
  of: revision,
}))
const extensions = { name: '0.2 extensions', suite: 'conformance02', revision: undefined, of: 'extension' }
const older = { name: '0.1', suite: 'conformance01', revision: undefined, of: undefined }

/** The runs of each side; `of` is how the suite's list of scenarios names those that belong to it, undefined for all of them. */
export const runs = {
  server: [...timeline, extensions, older],
  client: [...timeline, extensions, older],
}
