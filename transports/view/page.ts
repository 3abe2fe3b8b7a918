export const pageText = ''
export const pageCode = ''
export const pageStyle = ''
