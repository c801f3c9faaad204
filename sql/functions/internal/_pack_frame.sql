create or replace function loom._pack_frame(p_name text, p_format text) returns text[]
language plpgsql immutable parallel safe
as $$
begin
  -- Has a frame of its own, in the language asked for.
  if p_name = 'user_profile' then
    return array['', ''];
  end if;
  if p_format = 'markdown' then
    return array['# ' || case p_name
        when 'working_memory' then 'Working memory'
        when 'profile' then 'Profile'
        when 'looms' then 'Looms'
        when 'memories' then 'Memories'
        when 'decisions' then 'Decisions'
      end || E'\n\n', ''];
  end if;
  -- Blocks say of themselves what they are.
  if p_name = 'working_memory' then
    return array['', ''];
  end if;
  return array['<' || p_name || E'>\n', E'\n</' || p_name || '>'];
end
$$;
comment on function loom._pack_frame(text, text) is 'What stands before and behind the items of a section.';
