/** Words as testing-library reads them off the page, where every blank is a plain one. */
export const spaced = (words: string): string => words.replaceAll("\u00a0", " ");
