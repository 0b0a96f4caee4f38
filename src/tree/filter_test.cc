#include "tree/filter.h"

#include <gtest/gtest.h>

namespace casemate::tree {
namespace {

Filter MustMake(std::vector<Filter::Rule> rules) {
  return Filter::Make(std::move(rules)).value();
}

Filter Exclude(std::string pattern) {
  return MustMake({{false, std::move(pattern)}});
}

// Whether the pattern alone matches: what it excludes, it matches.
bool Matches(const std::string& pattern, std::string_view path,
             bool is_directory = false) {
  return !Exclude(pattern).Takes(path, is_directory);
}

TEST(Filter, WithoutRulesTakesEverything) {
  const Filter filter;
  EXPECT_TRUE(filter.empty());
  EXPECT_TRUE(filter.Takes("any/thing", false));
}

TEST(Filter, APatternWithoutSlashMatchesAtAnyDepth) {
  EXPECT_TRUE(Matches("*.o", "a.o"));
  EXPECT_TRUE(Matches("*.o", "x/y/a.o"));
  EXPECT_TRUE(Matches("*.o", ".o"));
  EXPECT_FALSE(Matches("*.o", "a.oo"));
  EXPECT_FALSE(Matches("*.o", "a.o/b"));
}

TEST(Filter, APatternWithASlashIsAnchoredAtTheRoot) {
  EXPECT_TRUE(Matches("/build", "build"));
  EXPECT_FALSE(Matches("/build", "x/build"));
  EXPECT_TRUE(Matches("a/b", "a/b"));
  EXPECT_FALSE(Matches("a/b", "x/a/b"));
}

TEST(Filter, ATrailingSlashMeansDirectoriesOnly) {
  EXPECT_TRUE(Matches("build/", "build", true));
  EXPECT_TRUE(Matches("build/", "x/build", true));
  EXPECT_FALSE(Matches("build/", "build", false));
}

TEST(Filter, TwoStarsStandForAnyNumberOfDirectories) {
  EXPECT_TRUE(Matches("a/**/b", "a/b"));
  EXPECT_TRUE(Matches("a/**/b", "a/x/y/b"));
  EXPECT_FALSE(Matches("a/**/b", "a/x/y/c"));
  EXPECT_TRUE(Matches("**/a/b", "x/y/a/b"));
  EXPECT_TRUE(Matches("**/a/b", "a/b"));
  EXPECT_FALSE(Matches("**/a/b", "xa/b"));
  EXPECT_TRUE(Matches("a/**/b/**/c", "a/b/b/x/c"));
}

TEST(Filter, TwoStarsAtTheEndMeanAllBelow) {
  EXPECT_TRUE(Matches("a/**", "a/b"));
  EXPECT_TRUE(Matches("a/**", "a/b/c"));
  EXPECT_FALSE(Matches("a/**", "a", true));
  EXPECT_TRUE(Matches("**", "a/b"));
}

TEST(Filter, OneStarAndQuestionMarkStayWithinAName) {
  EXPECT_FALSE(Matches("/a*c", "a/c"));
  EXPECT_FALSE(Matches("/a?c", "a/c"));
  EXPECT_TRUE(Matches("/a?c", "abc"));
  EXPECT_FALSE(Matches("/a?c", "ac"));
  EXPECT_TRUE(Matches("a**c", "abbc"));
}

TEST(Filter, ACharacterIsOneCodePointAndAStrayByteIsOneToo) {
  EXPECT_TRUE(Matches("?", "ä"));
  EXPECT_TRUE(Matches("[ä-ü]x", "öx"));
  EXPECT_TRUE(Matches("a?b",
                      "a\xff"
                      "b"));
  EXPECT_FALSE(Matches("?", "ab"));
}

TEST(Filter, ReadsCharacterClasses) {
  EXPECT_TRUE(Matches("[a-c]", "b"));
  EXPECT_FALSE(Matches("[a-c]", "d"));
  EXPECT_FALSE(Matches("[!a-c]", "b"));
  EXPECT_TRUE(Matches("[^a-c]", "d"));
  EXPECT_TRUE(Matches("[]x]", "]"));
  EXPECT_TRUE(Matches("[a-]", "-"));
  EXPECT_TRUE(Matches("[\\]]", "]"));
}

TEST(Filter, ABackslashTakesTheMeaningAway) {
  EXPECT_TRUE(Matches("\\*", "*"));
  EXPECT_FALSE(Matches("\\*", "a"));
  EXPECT_TRUE(Matches("\\[a]", "[a]"));
  EXPECT_TRUE(Matches("!a", "!a"));
  EXPECT_TRUE(Matches("#a", "#a"));
}

TEST(Filter, RefusesWhatItCannotRead) {
  for (const std::string pattern :
       {"", "/", "//", "a//b", "[", "[a", "[]", "a\\", "[z-a]", "a/./b", "..",
        "[[:alpha:]]", "a[/]b"}) {
    const auto filter = Filter::Make({{false, pattern}});
    ASSERT_FALSE(filter) << pattern;
    EXPECT_EQ(filter.error().code, Code::kInvalidArgument);
    EXPECT_NE(filter.error().message.find("\"" + pattern + "\""),
              std::string::npos);
  }
}

TEST(Filter, TheLastMatchWins) {
  const Filter filter =
      MustMake({{false, "*.log"}, {true, "keep.log"}, {false, "/x/keep.log"}});
  EXPECT_FALSE(filter.Takes("a.log", false));
  EXPECT_TRUE(filter.Takes("a/keep.log", false));
  EXPECT_FALSE(filter.Takes("x/keep.log", false));
  EXPECT_TRUE(filter.Takes("a.txt", false));
}

TEST(Filter, OnlyIncludesExcludeTheRestButEnterDirectories) {
  const Filter filter = MustMake({{true, "*.h"}, {true, "/doc/"}});
  EXPECT_TRUE(filter.Takes("a/b.h", false));
  EXPECT_FALSE(filter.Takes("a/b.c", false));
  EXPECT_TRUE(filter.Takes("a", true));
}

TEST(Filter, AnIncludedDirectoryBringsAllBelowIt) {
  const Filter filter = MustMake({{true, "/doc/"}});
  EXPECT_TRUE(filter.Takes("doc/a/b.txt", false));
  EXPECT_FALSE(filter.Takes("a/doc/b.txt", false));
  EXPECT_FALSE(filter.Takes("doc", false));
}

TEST(Filter, AHostilePatternTakesNoExponentialTime) {
  std::string pattern;
  for (int i = 0; i < 60; ++i) pattern += "*a";
  EXPECT_FALSE(Matches(pattern + "b", std::string(4000, 'a')));
  std::string deep = "**/a";
  std::string path = "a";
  for (int i = 0; i < 60; ++i) deep += "/**/a";
  for (int i = 0; i < 1000; ++i) path += "/a";
  EXPECT_FALSE(Matches(deep + "/b", path));
}

}  // namespace
}  // namespace casemate::tree
