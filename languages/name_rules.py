"""The rules of name resolution that differ between languages, as fields of a language's record.

Owns the fields that `codegraph` reads to resolve names. The default of a field fits a language of which nothing is
known. Knows no file and no lexical syntax.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .import_lines import ImportPattern

ModuleStyle = Literal["", "python", "web", "go", "rust", "lua", "source", "include"]
"""The meaning of the text of an import: the rules by which `codegraph.modules` finds the file."""

PackageStyle = Literal["", "directory", "declared"]
"""What makes the files of a package: nothing, their directory, or the package or namespace that each file declares."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NameRules:
    """How names get their meaning in one language. Texts that list words separate them by spaces."""

    # Files and packages.
    family: str = ""  # languages whose files call each other's definitions; `name` when ""
    module_style: ModuleStyle = ""
    module_separator: str = ""  # of an imported path, whose parts are modules, types, and names that they import
    import_lines: tuple[ImportPattern, ...] = ()  # forms of import statements that name files of the repository
    import_suffixes: str = ""  # file suffixes that an import may leave out, or of an included header's source, in order
    package_style: PackageStyle = ""
    package_sign: str = "."  # between the parts of a package's name
    shares_directory: bool = (
        False  # plain names come from the file, its package, or an import, and never from elsewhere
    )
    has_outer_packages: bool = False  # the names of the packages around a package are known in it
    has_relative_imports: bool = False  # the path of an import may begin in the package of the file
    project_ending: str = ""  # of the names of files that describe a project, whose files have imports in common
    test_ending: str = ""  # of files whose definitions only such files see
    test_path: str = ""  # pattern of paths of files whose definitions only such files see

    # Names.
    own_object: str = "self this"  # words for the object or class around a method
    own_class: str = ""  # words for the class around a method
    super_word: str = ""  # for the object as an instance of its base class
    super_is_called: bool = False  # the word is a function
    shared_names: str = ""  # pattern of the names that inner scopes and other files know without an object; "" for all
    private_prefix: str = ""  # of names that a star import leaves out
    builtins: str = ""  # names that every file knows
    attribute_sign: str = ""  # before the name of an attribute of the object around a method
    member_operators: str = ""  # operators before a member beside the dot
    has_globals: bool = False  # names may be known in all files without an import
    global_kinds: str = ""  # the only kinds of definitions that `has_globals` is true of
    has_implicit_object: bool = False  # the members of the classes around a plain name are among its meanings
    has_function_names: bool = False  # functions and variables may have one name: what is called is no variable
    has_bare_calls: bool = False  # a name without parentheses may be a call
    has_block_scopes: bool = False  # of several values of a module's name the latest above a line counts there
    has_typed_names: bool = False  # a variable whose type is unknown may be an object of the class with its name
    declares_all: bool = False  # a name that no file of the repository declares is from outside of it

    # Types and their members.
    constructor: str = ""  # name of constructors, beside the name of the class
    new_method: str = ""  # methods of a class that make an object of it, unless it defines them
    call_method: str = ""  # name of the method that makes objects callable
    index_method: str = ""  # method that an index calls; an index of an object without it is a pointer's
    receiver_types: str = ""  # types of results that are the class of the object whose method is called
    has_open_types: bool = False  # several places may define the parts of one type
    has_extensions: bool = False  # functions outside of a type, in any file, may be methods of it
    has_extension_packages: bool = False  # the extensions of a type are known where the file sees their package
    has_interfaces: bool = False  # a class names the interfaces that it implements
    has_method_sets: bool = False  # a type implements an interface by its methods alone
    protocol_base: str = ""  # a class with this base is implemented by the methods of a class alone
    has_traits_in_scope: bool = False  # a method of a trait is known where the file imports or defines the trait
    has_mixins: bool = False  # a class may get members at run time, and call those of classes that extend or include it
    has_fields_apart: bool = False  # a field and a method of a type may have the same name

    # Collections and wrappers.
    element_methods: str = ""  # methods of collections that return an element
    collection_methods: str = ""  # methods of collections that return a collection of the same elements
    identity_methods: str = ""  # methods of wrappers of a value, which give the value
