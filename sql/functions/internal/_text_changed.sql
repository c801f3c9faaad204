create or replace function loom._text_changed(p_rows loom.memory[]) returns void
language plpgsql volatile
as $$
declare
  v_wanted boolean := loom._embedding_wanted();
  v_row loom.memory;
  v_language text;
  v_other boolean;
begin
  foreach v_row in array p_rows loop
    if not loom._is_searchable(v_row) then
      delete from loom.memory_text where org = v_row.org and memory_id = v_row.memory_id;
      continue;
    end if;
    v_language := loom._namespace_language(v_row.org, v_row.namespace);
    if v_wanted then
      select (content_sha256, plane) <> (v_row.content_sha256, loom._plane_of(v_row.memory_type)) into v_other from loom.memory_text
      where org = v_row.org and memory_id = v_row.memory_id;
    end if;
    insert into loom.memory_text (org, memory_id, namespace, user_id, plane, language, content_sha256, words)
    values (v_row.org, v_row.memory_id, v_row.namespace, v_row.user_id, loom._plane_of(v_row.memory_type), v_language,
      v_row.content_sha256, loom._memory_words(v_row, v_language))
    on conflict (org, memory_id) do update
      set plane = excluded.plane, language = excluded.language, content_sha256 = excluded.content_sha256,
        words = excluded.words;
    if v_wanted and v_other is not false then
      perform loom._embedding_list(array[v_row]);
    end if;
  end loop;
end
$$;
comment on function loom._text_changed(loom.memory[]) is
  'Makes anew what rows are found by, or removes it; and lists those as due for a vector whose text is another.';
