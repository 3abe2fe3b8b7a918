/** The handler that is measured. */
export { handle as default }

function handle({ what = 'echo' }: { readonly what?: string }): string {
  if (what === 'spin') for (;;);
  return what
}
